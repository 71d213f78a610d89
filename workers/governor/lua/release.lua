-- ARGV[3..9]: permit id, job, when it was given, tokens reserved, tokens used, how the call ended, Retry-After in ms or
-- -1. A permit that this state does not know took nothing from its buckets, so it gives nothing back.
local id, job, granted = ARGV[3], ARGV[4], tonumber(ARGV[5])
local amount, used = tonumber(ARGV[6]), tonumber(ARGV[7])
local buckets = load_buckets(state, rules, 0)
refill_buckets(buckets)
reap(buckets)
expire_waits()
local in_flight = redis.call('ZCARD', SLOTS)
local found = redis.call('HGET', PERMITS, id)
local permit = found and cjson.decode(found) or {job, amount, false, false}
if found then
  free(id, job)
end
settle(buckets, job, amount, used, permit[3], permit[4])
health_learns(id, granted, ARGV[8], tonumber(ARGV[9]), in_flight)
keep_buckets(buckets)
save()
return 1
