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
local PERMITS = root .. ':permits' -- hash: permit → JSON of [job, tokens, whether they are held in the bucket]
local JOBS = root .. ':jobs'       -- hash: job → permits in flight
local UNTIL = root .. ':until'     -- sorted set: job that waits → when it is no longer taken to wait
local STARTS = root .. ':starts'   -- sorted set: job that waits for a bucket → its start tag
local FINISHES = root .. ':finishes'

local state = {} -- the root key's hash
local born = true
do
  local flat = redis.call('HGETALL', root)
  for at = 1, #flat, 2 do
    state[flat[at]] = flat[at + 1]
    born = false
  end
  if born then
    state['birth'] = string.format('%.17g', now)
  end
end

local function number(name, default)
  return tonumber(state[name]) or default
end

local function set(name, value)
  state[name] = string.format('%.17g', value)
end

local function save()
  local flat = {}
  for name, value in pairs(state) do
    flat[#flat + 1] = name
    flat[#flat + 1] = value
  end
  redis.call('HSET', root, unpack(flat))
  for _, key in ipairs({root, SLOTS, PERMITS, JOBS, UNTIL, STARTS, FINISHES}) do
    redis.call('PEXPIRE', key, rules.forget_ms)
  end
end
