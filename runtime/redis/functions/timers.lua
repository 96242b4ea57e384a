-- Moves due timers into the mailbox, oldest first.
-- KEYS  a section: meta, mail, timers, timer bodies
-- ARGV  a section: epoch, grant
-- returns a section: due time of the next timer, '' when there is none or the lease is lost

local FIRE_LIMIT = 256

local function fire_section(meta, mail, timers, bodies, epoch, grant, now, bells)
  local m = redis.call('HMGET', meta, 'epoch', 'grant', 'tail', 'rung', 'node', 'name')
  if m[1] ~= epoch or m[2] ~= grant then return '' end
  local due = redis.call('ZRANGEBYSCORE', timers, '-inf', int(now), 'LIMIT', 0, FIRE_LIMIT)
  if #due > 0 then
    local texts, tail = redis.call('HMGET', bodies, unpack(due)), tonumber(m[3] or 0)
    for i = 1, #due do
      if texts[i] then
        tail = tail + 1
        add_entry(mail, tail, now, texts[i])
      end
    end
    redis.call('ZREM', timers, unpack(due))
    redis.call('HDEL', bodies, unpack(due))
    redis.call('HSET', meta, 'tail', int(tail), 'rung', 1)
    if m[4] ~= '1' then ring(bells, m[5], m[6]) end
  end
  return redis.call('ZRANGE', timers, 0, 0, 'WITHSCORES')[2] or ''
end

register('fire_timers', function(keys, args)
  local now, bells, results = now_ms(), {}, {}
  for s = 1, tonumber(args[1]) do
    local k, a = s * 4 - 3, s * 2 + 1
    results[s] = fire_section(keys[k], keys[k + 1], keys[k + 2], keys[k + 3], args[a], args[a + 1], now, bells)
  end
  send_bells(args[2], bells)
  return results
end)
