-- KEYS[1]: the profile's root key. ARGV[1]: its rules as JSON. ARGV[2]: the time in ms, below 0 for the server's own.
-- Numbers are kept as %.17g, which is exact for a double.
local root = KEYS[1]
local rules = cjson.decode(ARGV[1])
local now = tonumber(ARGV[2])
if now < 0 then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
end

local SLOTS = root .. ':slots'     -- sorted set: permit → when its lease ends
local PERMITS = root .. ':permits' -- hash: permit → JSON of [job, tokens, whether the buckets hold them, the job's own too]
local JOBS = root .. ':jobs'       -- hash: job → permits in flight
local UNTIL = root .. ':until'     -- sorted set: job that waits → when it is no longer taken to wait
local STARTS = root .. ':starts'   -- sorted set: job that waits for a bucket → its start tag
local FINISHES = root .. ':finishes'

local OWN = root .. ':own:'         -- and a job: hash: the buckets of the job's own limits, and its rules as JSON

local function load_hash(key)
  local hash = {}
  local flat = redis.call('HGETALL', key)
  for at = 1, #flat, 2 do
    hash[flat[at]] = flat[at + 1]
  end
  return hash
end

local function save_hash(key, hash)
  local flat = {}
  for name, value in pairs(hash) do
    flat[#flat + 1] = name
    flat[#flat + 1] = value
  end
  redis.call('HSET', key, unpack(flat))
  redis.call('PEXPIRE', key, rules.forget_ms)
end

local function exact(value)
  return string.format('%.17g', value)
end

local state = load_hash(root)
if not state['birth'] then
  state['birth'] = exact(now)
end

local function number(name, default)
  return tonumber(state[name]) or default
end

local function set(name, value)
  state[name] = exact(value)
end

local function save()
  save_hash(root, state)
  for _, key in ipairs({SLOTS, PERMITS, JOBS, UNTIL, STARTS, FINISHES}) do
    redis.call('PEXPIRE', key, rules.forget_ms)
  end
end
