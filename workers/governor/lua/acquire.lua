-- ARGV[3..7]: permit id, job, tokens, and what the caller saw last: the token bucket's top, the state's birth.
-- Returns {granted, birth, top, now}, or {refused, birth, top, now, reason, ms}, or {lost, birth, top, now}: the state
-- is not the one that the caller knew, so it must restore its permits before it asks again.
local REFUSED, GRANTED, LOST = 0, 1, 2
local id, job, amount, seen, known = ARGV[3], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local requests = load_bucket('requests', rules.requests, 0)
local tokens = load_bucket('tokens', rules.tokens, seen)

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

local function refuse_bucket()
  local ms = bucket_wait(requests, 1)
  if ms > 0 then
    return 'requests', ms
  end
  ms = bucket_wait(tokens, amount)
  if ms > 0 then
    return 'tokens', ms
  end
  if out_of_turn(job) then
    return 'fairness', rules.poll_ms
  end
end

local function refuse()
  local reason, ms = health_refuses()
  if reason then
    return reason, ms
  end
  local for_bucket = false
  reason, ms = refuse_slot()
  if not reason then
    for_bucket = true
    reason, ms = refuse_bucket()
  end
  if reason then
    turn_refused(job, now + ms + rules.waiting_ms, for_bucket)
  end
  return reason, ms
end

local function grant()
  redis.call('ZADD', SLOTS, string.format('%.17g', now + rules.lease_ms), id)
  redis.call('HSET', PERMITS, id, cjson.encode({job, amount, tokens ~= nil}))
  redis.call('HINCRBY', JOBS, job, 1)
  local cost = 1
  if requests then
    requests.level = requests.level - 1
  end
  if tokens then
    tokens.level = tokens.level - amount
    tokens.held = tokens.held + amount
    cost = math.max(1, amount)
  end
  if number('opens', 0) > 0 then
    state['probe'] = id
  end
  turn_granted(job, cost, now + 2 * rules.poll_ms)
end

reap(tokens)
if requests then
  refill(requests)
end
if tokens then
  refill(tokens)
end
expire_waits()
local answer, reason, ms = GRANTED
if known ~= '' and known ~= state['birth'] then
  answer = LOST
elseif redis.call('HEXISTS', PERMITS, id) == 0 then -- else the answer to the first request was lost on its way
  reason, ms = refuse()
  if reason then
    answer = REFUSED
    set('waits.' .. reason, number('waits.' .. reason, 0) + 1)
  else
    grant()
  end
end
save_bucket(requests)
save_bucket(tokens)
save()
local seen_now = tokens and string.format('%.17g', top(tokens)) or '0'
return {answer, state['birth'], seen_now, string.format('%.17g', now), reason, ms}
