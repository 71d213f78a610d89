-- ARGV[3..]: permit id, job, tokens; again for each. A lost permit holds its slot again, but no tokens.
for at = 3, #ARGV, 3 do
  local id, job = ARGV[at], ARGV[at + 1]
  if redis.call('HSETNX', PERMITS, id, cjson.encode({job, tonumber(ARGV[at + 2]), false, false})) == 1 then
    redis.call('HINCRBY', JOBS, job, 1)
  end
  redis.call('ZADD', SLOTS, exact(now + rules.lease_ms), id)
end
for _, key in ipairs({SLOTS, PERMITS, JOBS}) do
  redis.call('PEXPIRE', key, rules.forget_ms)
end
return 1
