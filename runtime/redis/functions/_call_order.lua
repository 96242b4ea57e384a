-- Calls that neither a lease nor an attempt fences are applied in the order in which their process made them. A call that
-- arrives twice, or after a later one, is dropped: a client library may repeat a call, and a network may deliver it late.

-- Above this number of callers, those that have been silent for CALLER_MS are removed.
local CALLERS, CALLER_MS = 64, 3600000

local function forget_callers(asked, now)
  if redis.call('HLEN', asked) <= CALLERS then return end
  local rows = redis.call('HGETALL', asked)
  for i = 1, #rows, 2 do
    local at = tonumber(string.match(rows[i + 1], ' (%d+)$'))
    if now - at > CALLER_MS then redis.call('HDEL', asked, rows[i]) end
  end
end

-- `asked` is a hash: caller -> `number of its last call, time of it`. Notes the call when it is in order.
local function is_in_order(asked, caller, number, now)
  local last = string.match(redis.call('HGET', asked, caller) or '', '^%d+')
  if last and tonumber(number) <= tonumber(last) then return false end
  forget_callers(asked, now)
  redis.call('HSET', asked, caller, number .. ' ' .. int(now))
  return true
end
