-- ARGV[3..8]: permit id, job, tokens, what the caller saw last (the token bucket's top, the state's birth), and the
-- rules of the job's own limits as JSON, or ''.
-- Returns {granted, birth, top, now}, or {refused, birth, top, now, reason, ms}, or {lost, birth, top, now}: the state
-- is not the one that the caller knew, so it must restore its permits before it asks again.
local REFUSED, GRANTED, LOST = 0, 1, 2
local id, job, amount, seen, known = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local buckets = load_buckets(state, rules, seen)
local own, own_rules

local function refuse_slot()
  local slots, reason = rules.concurrency or 0, 'concurrency'
  local ceiling = number('ceiling', 0)
  if ceiling > 0 and (slots == 0 or ceiling < slots) then
    slots, reason = ceiling, 'adaptive'
  end
  if slots == 0 then
    return nil
  end
  if redis.call('ZCARD', SLOTS) >= slots then
    return reason, rules.poll_ms
  end
  if over_share(job, slots) then
    return 'fairness', rules.poll_ms
  end
end

local function refuse_own()
  own_rules = cjson.decode(ARGV[8])
  local hash = load_hash(OWN .. job)
  hash['rules'] = ARGV[8]
  own = load_buckets(hash, own_rules, 0)
  refill_buckets(own)
  if own_rules.concurrency and (tonumber(redis.call('HGET', JOBS, job)) or 0) >= own_rules.concurrency then
    return 'concurrency', rules.poll_ms
  end
  return refuse_buckets(own, amount)
end

local function refuse()
  local reason, ms = health_refuses()
  if reason then
    return reason, ms
  end
  if ARGV[8] ~= '' then
    reason, ms = refuse_own()
    if reason then
      turn_withdrawn(job)
      return reason, ms
    end
  end
  local for_bucket = false
  reason, ms = refuse_slot()
  if not reason then
    for_bucket = true
    reason, ms = refuse_buckets(buckets, amount)
    if not reason and out_of_turn(job) then
      reason, ms = 'fairness', rules.poll_ms
    end
  end
  if reason then
    turn_refused(job, now + ms + rules.waiting_ms, for_bucket)
  end
  return reason, ms
end

local function grant()
  redis.call('ZADD', SLOTS, exact(now + rules.lease_ms), id)
  redis.call('HSET', PERMITS, id, cjson.encode({job, amount, true, own ~= nil}))
  redis.call('HINCRBY', JOBS, job, 1)
  take_buckets(buckets, amount)
  if own then
    take_buckets(own, amount)
  end
  if number('opens', 0) > 0 then
    state['probe'] = id
  end
  turn_granted(job, buckets.tokens and math.max(1, amount) or 1, now + 2 * rules.poll_ms)
end

refill_buckets(buckets)
reap(buckets)
expire_waits()
local answer, reason, ms = GRANTED
if known ~= '' and known ~= state['birth'] then
  answer = LOST
  if buckets.tokens then
    buckets.tokens.was = math.max(buckets.tokens.was, seen)
  end
elseif redis.call('HEXISTS', PERMITS, id) == 0 then -- else the answer to the first request was lost on its way
  reason, ms = refuse()
  if reason then
    answer = REFUSED
    set('waits.' .. reason, number('waits.' .. reason, 0) + 1)
  else
    grant()
  end
end
keep_buckets(buckets)
if own then
  save_own(job, own)
end
save()
local top_now = buckets.tokens and exact(top(buckets.tokens)) or '0'
return {answer, state['birth'], top_now, exact(now), reason, ms}
