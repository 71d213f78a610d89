-- Writes nothing. Returns the state's hash, the jobs' permits, the jobs that wait, the time.
local buckets = load_buckets(state, rules, 0)
local jobs = {}
local slots = redis.call('ZRANGE', SLOTS, 0, -1, 'WITHSCORES')
for at = 1, #slots, 2 do
  local found = redis.call('HGET', PERMITS, slots[at])
  local permit = found and cjson.decode(found)
  if permit and tonumber(slots[at + 1]) > now then
    jobs[permit[1]] = (jobs[permit[1]] or 0) + 1
  end
end
refill_buckets(buckets)
keep_buckets(buckets)

local function flat(hash)
  local items = {}
  for name, value in pairs(hash) do
    items[#items + 1] = name
    items[#items + 1] = value
  end
  return items
end

local waiting = redis.call('ZRANGEBYSCORE', UNTIL, '(' .. exact(now), '+inf')
return {flat(state), flat(jobs), waiting, exact(now)}
