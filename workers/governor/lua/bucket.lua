-- The same as bucket.py, operation for operation; the proof is there.
local function top(bucket)
  return math.min(math.max(bucket.was, bucket.is), bucket.flow.most)
end

local function rate(bucket)
  return math.max(0, bucket.flow.total - top(bucket)) / bucket.flow.window_ms
end

local function refill(bucket)
  local gained = rate(bucket) * math.max(0, now - bucket.at)
  local room = top(bucket) - bucket.level - bucket.held
  bucket.level = bucket.level + math.min(gained, room)
  bucket.lost = bucket.lost + math.max(0, gained - room)
  bucket.at = now
  bucket.is = math.max(bucket.is, bucket.level + bucket.held)
  if now < bucket.since then
    bucket.was = math.max(bucket.was, bucket.is)
    bucket.since = now
  elseif now - bucket.since >= bucket.flow.window_ms then
    bucket.was = bucket.is
    bucket.is = math.max(bucket.flow.burst, bucket.level + bucket.held)
    bucket.since = now
  end
end

-- `seen`: the top that the caller saw before the state was lost.
local function load_bucket(name, flow, seen)
  if not flow then
    return nil
  end
  return {
    name = name,
    flow = flow,
    level = number(name .. '.level', 0),
    held = number(name .. '.held', 0),
    lost = number(name .. '.lost', 0),
    at = number(name .. '.at', now),
    was = number(name .. '.was', math.max(flow.burst, seen)),
    is = number(name .. '.is', flow.burst),
    since = number(name .. '.since', now),
  }
end

local function save_bucket(bucket)
  if bucket then
    for _, field in ipairs({'level', 'held', 'lost', 'at', 'was', 'is', 'since'}) do
      set(bucket.name .. '.' .. field, bucket[field])
    end
  end
end

local function bucket_wait(bucket, amount)
  if not bucket or bucket.level >= amount then
    return 0
  end
  if amount > top(bucket) or bucket.lost >= amount then
    bucket.is = math.max(bucket.is, math.min(bucket.flow.most, math.max(amount + bucket.held, top(bucket) + amount)))
    bucket.lost = 0
  end
  if amount + bucket.held > top(bucket) or rate(bucket) <= 0 then
    return rules.poll_ms
  end
  return math.max(1, math.ceil(math.min((amount - bucket.level) / rate(bucket), rules.ask_most_ms)))
end
