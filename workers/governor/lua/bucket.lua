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

local FIELDS = {'level', 'held', 'lost', 'at', 'was', 'is', 'since'}

-- `seen`: the top that the caller saw before the state was lost.
local function load_bucket(hash, name, flow, seen)
  if not flow then
    return nil
  end
  local bucket = {
    name = name, flow = flow, level = 0, held = 0, lost = 0, at = now, since = now,
    was = math.max(flow.burst, seen), is = flow.burst,
  }
  for _, field in ipairs(FIELDS) do
    bucket[field] = tonumber(hash[name .. '.' .. field]) or bucket[field]
  end
  return bucket
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

-- The same as buckets.py: the two buckets of one set of limits, which are kept in a hash.
local function load_buckets(hash, limits, seen)
  return {
    hash = hash,
    requests = load_bucket(hash, 'requests', limits.requests, 0),
    tokens = load_bucket(hash, 'tokens', limits.tokens, seen),
  }
end

local function keep_buckets(buckets)
  for _, bucket in pairs({buckets.requests or false, buckets.tokens or false}) do
    if bucket then
      for _, field in ipairs(FIELDS) do
        buckets.hash[bucket.name .. '.' .. field] = exact(bucket[field])
      end
    end
  end
end

local function refill_buckets(buckets)
  if buckets.requests then
    refill(buckets.requests)
  end
  if buckets.tokens then
    refill(buckets.tokens)
  end
end

local function refuse_buckets(buckets, amount)
  local ms = bucket_wait(buckets.requests, 1)
  if ms > 0 then
    return 'requests', ms
  end
  ms = bucket_wait(buckets.tokens, amount)
  if ms > 0 then
    return 'tokens', ms
  end
end

local function take_buckets(buckets, amount)
  if buckets.requests then
    buckets.requests.level = buckets.requests.level - 1
  end
  if buckets.tokens then
    buckets.tokens.level = buckets.tokens.level - amount
    buckets.tokens.held = buckets.tokens.held + amount
  end
end

local function settle_buckets(buckets, amount, used, charged)
  local tokens = buckets.tokens
  if tokens and charged then
    tokens.held = tokens.held - amount
    tokens.level = tokens.level + (amount - used)
  elseif tokens then
    tokens.level = tokens.level - math.max(0, used - amount)
  end
end
