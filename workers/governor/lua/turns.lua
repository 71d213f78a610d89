-- The same as turns.py: fairness between waiting jobs. Of many waiting jobs, so many are looked at:
local LOOK = 100

local function expire_waits()
  for _, job in ipairs(redis.call('ZRANGEBYSCORE', UNTIL, '-inf', now)) do
    redis.call('ZREM', UNTIL, job)
    redis.call('ZREM', STARTS, job)
  end
end

local function over_share(job, slots)
  local waiting = redis.call('ZRANGE', UNTIL, 0, LOOK - 1)
  if #waiting == 0 then
    return false
  end
  local own = tonumber(redis.call('HGET', JOBS, job)) or 0
  local counts = redis.call('HMGET', JOBS, unpack(waiting))
  local jobs = redis.call('HLEN', JOBS)
  local fewer, known = false, own > 0
  for at, other in ipairs(waiting) do
    local count = tonumber(counts[at]) or 0
    if count == 0 then
      jobs = jobs + 1
    end
    if other == job then
      known = true
    elseif count < own then
      fewer = true
    end
  end
  if not known then
    jobs = jobs + 1
  end
  return fewer and own >= math.max(1, math.floor(slots / jobs))
end

local function start_tag(job)
  return math.max(number('virtual', 0), tonumber(redis.call('ZSCORE', FINISHES, job)) or 0)
end

local function out_of_turn(job)
  local first = redis.call('ZRANGE', STARTS, 0, 1, 'WITHSCORES')
  local start = start_tag(job)
  for at = 1, #first, 2 do
    if first[at] ~= job and tonumber(first[at + 1]) < start then
      return true
    end
  end
  return false
end

local function turn_refused(job, till, for_bucket)
  redis.call('ZADD', UNTIL, exact(till), job)
  if for_bucket then
    redis.call('ZADD', STARTS, exact(start_tag(job)), job)
  else
    redis.call('ZREM', STARTS, job)
  end
end

local function turn_withdrawn(job)
  redis.call('ZREM', UNTIL, job)
  redis.call('ZREM', STARTS, job)
end

local function turn_granted(job, cost, till)
  local virtual = start_tag(job)
  set('virtual', virtual)
  redis.call('ZREMRANGEBYSCORE', FINISHES, '-inf', exact(virtual))
  local finish = exact(virtual + cost)
  redis.call('ZADD', FINISHES, finish, job)
  redis.call('ZADD', UNTIL, 'XX', 'LT', exact(till), job)
  redis.call('ZADD', STARTS, 'XX', finish, job)
end
