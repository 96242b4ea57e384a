-- Hands messages from one partition's outbox to the mailboxes of others, each exactly once.

-- Appends what a source sends; drops what was received from it before. A server that returned to an older state owes the same messages
-- again under later numbers: a late copy of this call from its former life must not add them.
-- KEYS  a section: meta, mail (of the target)
-- ARGV  a section: field of the source in meta, server life at the grant of the source or '', n, then n times: outbox sequence number, body
-- returns a section: number of messages that were new | -1 (a server of another life granted the lease of the source)
local function receive_section(meta, mail, args, a, now, bells)
  local source, n = args[a], tonumber(args[a + 2])
  if not is_of_this_life(args[a + 1]) then return -1 end
  local m = redis.call('HMGET', meta, 'tail', 'bell', source, 'log')
  local box = box_of(args[2], meta, mail, nil, m[4])
  local b = box.log and redis.call('HMGET', box.meta, 'tail', 'bell') or m
  local tail, heard, fresh = tonumber(b[1] or 0), tonumber(m[3] or 0), {}
  for i = 0, n - 1 do
    local seq = tonumber(args[a + 3 + i * 2])
    if seq > heard then
      heard = seq
      fresh[#fresh + 1] = args[a + 4 + i * 2]
      add_entry(box.mail, tail + #fresh, now, fresh[#fresh], nil, box.partition)
    end
  end
  if #fresh > 0 then
    redis.call('HSET', meta, source, int(heard))
    redis.call('HSET', box.meta, 'tail', int(tail + #fresh), 'bell', '')
    ring(bells, b[2], tail + 1, now, fresh, box.partition)
  end
  return #fresh
end

register('receive', function(keys, args)
  local now, bells, results = now_ms(), {}, {}
  local a = 3
  for s = 1, tonumber(args[1]) do
    results[s] = receive_section(keys[s * 2 - 1], keys[s * 2], args, a, now, bells)
    a = a + 3 + 2 * tonumber(args[a + 2])
  end
  send_bells(args[2], bells)
  return results
end)

-- Removes delivered entries. A server that returned to an older state may again owe entries whose delivery was lost as well: a late copy
-- of this call from its former life must not remove them.
-- KEYS  a section: meta, outbox (of the source)
-- ARGV  a section: server life at the grant or '', n, then n entry ids
-- returns a section: number of entries still owed
register('acknowledge', function(keys, args)
  local results, a = {}, 3
  for s = 1, tonumber(args[1]) do
    local meta, outbox, n = keys[s * 2 - 1], keys[s * 2], tonumber(args[a + 1])
    if is_of_this_life(args[a]) then redis.call('XDEL', outbox, unpack(args, a + 2, a + 1 + n)) end
    local left = redis.call('XLEN', outbox)
    redis.call('HSET', meta, 'owed', left)
    if left == 0 then redis.call('UNLINK', outbox) end
    results[s] = left
    a = a + 2 + n
  end
  return results
end, { 'allow-oom' })
