-- Leases end; a permit frees its slot.
local function free(id, job)
  redis.call('ZREM', SLOTS, id)
  redis.call('HDEL', PERMITS, id)
  if redis.call('HINCRBY', JOBS, job, -1) <= 0 then
    redis.call('HDEL', JOBS, job)
  end
end

-- A dead worker's calls count as made: their reservation is used up.
local function reap(tokens)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', SLOTS, '-inf', now)) do
    local found = redis.call('HGET', PERMITS, id)
    local permit = found and cjson.decode(found)
    if permit then
      free(id, permit[1])
      if tokens and permit[3] then
        tokens.held = tokens.held - permit[2]
      end
    else
      redis.call('ZREM', SLOTS, id)
    end
  end
  if redis.call('EXISTS', SLOTS) == 0 then
    redis.call('DEL', PERMITS, JOBS)
    if tokens then
      tokens.held = 0
    end
  end
end
