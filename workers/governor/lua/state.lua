-- Writes nothing. Returns the state's hash, the jobs' permits, the jobs that wait, the time.
local requests = load_bucket('requests', rules.requests, 0)
local tokens = load_bucket('tokens', rules.tokens, 0)
local jobs = {}
local slots = redis.call('ZRANGE', SLOTS, 0, -1, 'WITHSCORES')
for at = 1, #slots, 2 do
  local found = redis.call('HGET', PERMITS, slots[at])
  local permit = found and cjson.decode(found)
  if permit and tonumber(slots[at + 1]) > now then
    jobs[permit[1]] = (jobs[permit[1]] or 0) + 1
  elseif permit and permit[3] and tokens then
    tokens.held = tokens.held - permit[2]
  end
end
if requests then
  refill(requests)
  set('requests.level', requests.level)
end
if tokens then
  refill(tokens)
  set('tokens.level', tokens.level)
end
local flat = {}
for name, value in pairs(state) do
  flat[#flat + 1] = name
  flat[#flat + 1] = value
end
local flights = {}
for job, count in pairs(jobs) do
  flights[#flights + 1] = job
  flights[#flights + 1] = count
end
local waiting = redis.call('ZRANGEBYSCORE', UNTIL, '(' .. string.format('%.17g', now), '+inf')
return {flat, flights, waiting, string.format('%.17g', now)}
