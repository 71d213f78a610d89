-- ARGV[3..8]: permit id, when it was given, tokens reserved, tokens used, how the call ended, Retry-After in ms or -1.
local id, granted, amount, used = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local requests = load_bucket('requests', rules.requests, 0)
local tokens = load_bucket('tokens', rules.tokens, 0)
reap(tokens)
if requests then
  refill(requests)
end
if tokens then
  refill(tokens)
end
expire_waits()
local in_flight = redis.call('ZCARD', SLOTS)
local found = redis.call('HGET', PERMITS, id)
local permit = found and cjson.decode(found)
if permit then
  free(id, permit[1])
end
if tokens then
  if permit and permit[3] then
    tokens.held = tokens.held - amount
    tokens.level = tokens.level + (amount - used)
  else -- this state did not take the reservation, so it gives nothing back
    tokens.level = tokens.level - math.max(0, used - amount)
  end
end
health_learns(id, granted, ARGV[7], tonumber(ARGV[8]), in_flight)
save_bucket(requests)
save_bucket(tokens)
save()
return 1
