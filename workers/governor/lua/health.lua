-- The same as health.py: circuit, cool-down and adaptive ceiling.
local function health_refuses()
  local opens, open_until = number('opens', 0), number('open_until', 0)
  if opens > 0 and now < open_until then
    return 'circuit', math.ceil(open_until - now)
  end
  if opens > 0 and state['probe'] and redis.call('ZSCORE', SLOTS, state['probe']) then
    return 'circuit', rules.poll_ms
  end
  local cool_until = number('cool_until', 0)
  if now < cool_until then
    return 'cool_down', math.ceil(cool_until - now)
  end
end

local function health_down()
  if number('downs', 0) == 0 or now - number('first_down', 0) > rules.downs_within_ms then
    set('downs', 0)
    set('first_down', now)
  end
  set('downs', number('downs', 0) + 1)
  local opens = number('opens', 0)
  if opens > 0 or number('downs', 0) >= rules.downs then
    set('open_until', now + math.min(rules.open_ms * 2 ^ math.min(opens, 30), rules.open_most_ms))
    set('opens', opens + 1)
    state['probe'] = '-'
  end
end

local function health_succeeded()
  local ceiling = number('ceiling', 0)
  if ceiling == 0 then
    return
  end
  set('good', number('good', 0) + 1)
  if number('good', 0) >= rules.successes * ceiling then
    set('good', 0)
    ceiling = ceiling + 1
    if rules.concurrency and ceiling >= rules.concurrency then
      ceiling = 0
    end
    set('ceiling', ceiling)
  end
end

local function health_limited(granted, retry_after, in_flight)
  local cool = rules.cool_ms
  if retry_after >= 0 then
    cool = retry_after
  end
  set('cool_until', math.max(number('cool_until', 0), now + math.min(cool, rules.cool_most_ms)))
  if granted > number('cut_at', -math.huge) then
    local ceiling, flying = number('ceiling', 0), in_flight
    if ceiling > 0 then
      flying = math.min(ceiling, in_flight)
    end
    set('ceiling', math.max(1, math.floor(flying / 2)))
    set('cut_at', now)
    set('good', 0)
  end
end

local function health_learns(id, granted, how, retry_after, in_flight)
  local probe = state['probe'] == id
  if how == 'other' or (number('opens', 0) > 0 and not probe and how ~= 'rate_limited') then
    return
  end
  if how == 'provider_down' then
    health_down()
    return
  end
  if probe then
    set('opens', 0)
    state['probe'] = '-'
  end
  set('downs', 0)
  if how == 'ok' then
    health_succeeded()
  else
    health_limited(granted, retry_after, in_flight)
  end
end
