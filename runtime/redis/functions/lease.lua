-- Grants, extends and gives back the lease of a partition (K4). Also under memory pressure: flag allow-oom.
-- KEYS  a section: meta, timers, states, effects, postponed (acquire) | meta (renew, release, vouch, came_back), also of a log that partitions share

-- ARGV  a section: partition, node, grant, ttlMs, over (the grant of a dead holder, or ''), caller, number of its call
-- returns a section: {1, epoch, cursor, next timer's due time or '', server life, time of the grant, 1 | 0 (vouched for) | 2 (nothing is
--         in it, which may be an older state),
--         results beside the mailbox at the cursor, number of the last entry, messages postponed} (granted) |
--         {0, holder, remaining ms, its grant, log or ''} (held, or a late copy: its process has had the answer to this call or a later one;
--         the holder is that of a log that the partition shares, or shared and that is not read to its end)
local function acquire_section(keys, k, name, node, grant, ttl, over, asked, prefix, now)
  local meta, timers, postponed = keys[k], keys[k + 1], keys[k + 4]
  local m = redis.call('HMGET', meta, 'node', 'until', 'grant', 'epoch', 'cursor', 'life', 'callers', 'beside', 'tail', 'log', 'behind', 'back')
  local log = unread_log(prefix, m[10], m[11])
  if log then
    note_refused(meta, m[7], asked, now)
    return { 0, log.node, math.max(log.remaining(now), 0), log.grant, log.name }
  end
  local holder, remaining = m[1], due_of(meta, '', tonumber(m[2] or 0), now) - now
  local counts = holder and holder ~= '' and holder ~= node and m[3] ~= over
  if counts and remaining > 0 then
    note_refused(meta, m[7], asked, now)
    return { 0, holder, remaining, m[3], '' }
  end
  if is_behind(m[7], asked) and m[3] ~= grant then return { 0, holder or '', math.max(remaining, 0), m[3] or '', '' } end
  local epoch = tonumber(m[4] or 0)
  if m[3] ~= grant then epoch = epoch + 1 end -- the same grant again: its answer was lost
  redis.call('HSET', meta, 'node', node, 'grant', grant, 'epoch', epoch, 'until', int(now + ttl),
    'fence', epoch .. ' ' .. grant, 'bell', node .. '\n' .. name, 'wide', WIDE,
    'callers', callers_with(m[7], asked, now),
    -- The log that it shared is read to its end, so its former holder writes nothing here any more (commit.lua).
    'behind', '')
  lease_term = ttl
  wrote(meta, '', now)
  local first = redis.call('ZRANGE', timers, 0, 0, 'WITHSCORES')
  -- Without actors and open effects there is no data that a return to an older state could have brought back.
  local process = server_process()
  local vouched = (process == '' or m[6] == process) and 1 or 0
  if vouched == 0 and redis.call('HLEN', keys[k + 2]) == 0 and redis.call('HLEN', keys[k + 3]) == 0 then
    redis.call('HSET', meta, 'life', process)
    vouched = m[6] and 2 or 1
  end
  local cursor = tonumber(m[5] or 0)
  note_return(meta, m[12], cursor, beside_at(m[8], cursor))
  return { 1, epoch, cursor, first[2] or '', server_life(), now, vouched, beside_at(m[8], cursor), tonumber(m[9] or 0),
    redis.call('XLEN', postponed) }
end

register('acquire', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local a = s * 7 - 4
    local ttl, over, asked = tonumber(args[a + 3]), args[a + 4], { caller = args[a + 5], number = args[a + 6] }
    results[s] = acquire_section(keys, s * 5 - 4, args[a], args[a + 1], args[a + 2], ttl, over, asked, args[2], now)
  end
  return results
end, { 'allow-oom' })

-- Extends a lease.
-- ARGV  a section: fence, ttlMs, server life at the grant or ''
-- returns a section: 1 (extended) | 0 (lost, or a server of another life granted it)
register('renew', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do
    local a = s * 3
    local kept = redis.call('HGET', keys[s], 'fence') == args[a] and is_of_this_life(args[a + 2])
    if kept then
      lease_term = tonumber(args[a + 1])
      redis.call('HSET', keys[s], 'until', int(now + lease_term))
      wrote(keys[s], '', now)
    end
    results[s] = kept and 1 or 0
  end
  return results
end, { 'allow-oom' })

-- Notes that the holder has checked the partition: actors that the archive has as ended are closed, so effects may be claimed. For an
-- adopted log this holds for all its partitions that no other holder has taken since; they are not checked again.
-- ARGV  a section: fence, server life at the grant or ''
-- returns a section: 1 | 0 (not held, or a server of another life granted it, which was not looked through)
register('vouch', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local a = s * 2 + 1
    local held = redis.call('HGET', keys[s], 'fence') == args[a] and is_of_this_life(args[a + 1])
    if held then
      redis.call('HSET', keys[s], 'life', server_process())
      local shared = redis.call('SMEMBERS', (string.gsub(keys[s], 'meta$', 'parts')))
      for i = 1, #shared do
        local own = keys_of_log(args[2], shared[i])
        if is_read_by(args[2], keys[s], own) then redis.call('HSET', own, 'life', server_process()) end
      end
    end
    results[s] = held and 1 or 0
  end
  return results
end, { 'allow-oom' })

-- The position of a partition when this server granted it first; the present one when it has not granted it yet. A node that held the
-- partition under an earlier server compares it with its own position.
-- ARGV  a section: server life at the grant
-- returns a section: {cursor, results beside the mailbox at it} | 0 (this server granted the lease, or it is not known)
register('came_back', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local process, granted_by = server_process(), string.match(args[s + 2], '^%x+')
    local is_other = process ~= '' and granted_by and granted_by ~= process
    results[s] = is_other and position_at_return(args[2], keys[s], process) or 0
  end
  return results
end, { 'no-writes' })

-- Gives a lease back.
-- ARGV  a section: fence
-- returns a section: 1 (given back) | 0 (was not held)
register('release', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local held = redis.call('HGET', keys[s], 'fence') == args[s + 2]
    if held then redis.call('HSET', keys[s], 'node', '', 'grant', '', 'until', 0, 'fence', '', 'bell', '') end
    results[s] = held and 1 or 0
  end
  return results
end, { 'allow-oom' })
