-- Permits: their ends, by release or by lease, and what that does to the buckets.
local function load_own(job)
  local hash = load_hash(OWN .. job)
  return hash['rules'] and load_buckets(hash, cjson.decode(hash['rules']), 0)
end

local function save_own(job, own)
  keep_buckets(own)
  save_hash(OWN .. job, own.hash)
end

local function free(id, job)
  redis.call('ZREM', SLOTS, id)
  redis.call('HDEL', PERMITS, id)
  if redis.call('HINCRBY', JOBS, job, -1) <= 0 then
    redis.call('HDEL', JOBS, job)
  end
end

local function settle(buckets, job, amount, used, charged, own_charged)
  settle_buckets(buckets, amount, used, charged)
  local own = load_own(job)
  if own then
    refill_buckets(own)
    settle_buckets(own, amount, used, own_charged)
    save_own(job, own)
  end
end

-- A dead worker's calls count as made: their reservation is used up.
local function reap(buckets)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', SLOTS, '-inf', now)) do
    local found = redis.call('HGET', PERMITS, id)
    local permit = found and cjson.decode(found)
    if permit then
      free(id, permit[1])
      settle(buckets, permit[1], permit[2], permit[2], permit[3], permit[4])
    else
      redis.call('ZREM', SLOTS, id)
    end
  end
  if redis.call('EXISTS', SLOTS) == 0 then -- should Redis have evicted a part of the state
    redis.call('DEL', PERMITS, JOBS)
    if buckets.tokens then
      buckets.tokens.held = 0
    end
  end
end
