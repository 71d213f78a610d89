-- ARGV[3..]: permit ids. Returns those that hold no slot any more.
local lost = {}
for at = 3, #ARGV do
  if redis.call('ZSCORE', SLOTS, ARGV[at]) then
    redis.call('ZADD', SLOTS, exact(now + rules.lease_ms), ARGV[at])
  else
    lost[#lost + 1] = ARGV[at]
  end
end
for _, key in ipairs({SLOTS, PERMITS, JOBS}) do
  redis.call('PEXPIRE', key, rules.forget_ms)
end
return lost
