-- Logs that the partitions of one node share (runtime/shared-logs.ts). A log has meta, mail, journal, depths and replies like
-- those of a partition, and key `parts`, a set of its partitions. Field `open` of its meta says whether it accepts messages:
-- 1, or 0 once it was closed. Key `logs` has the names of all.
-- All keys of a call are on one server: on a Cluster a log and its partitions have one slot tag.

-- Distance of numbers. A fresh log begins this far behind its partitions, which may use as many numbers before they join. After a log is
-- closed, its partitions begin this far behind it, because its turns may still append messages to it.
local GAP = 65536
-- How long the name of a removed log is remembered, so that a late copy of a call does not create it again.
local KNOWN_MS = 3600000

local function meta_of(prefix, name) return (keys_of_log(prefix, name)) end

local function parts_of(prefix, log) return base_of(prefix, log) .. 'parts' end

local function count_postponed(prefix, partition) return redis.call('XLEN', base_of(prefix, partition) .. 'postponed') end

-- ARGV  a section: log, node, grant, ttlMs, n, then n partitions
-- returns a section: {1, epoch, cursor, server life, time of the grant} | {0} (the name was used)
local function make_section(keys, k, args, a, now)
  local meta, log, node, grant, prefix = keys[k], args[a], args[a + 1], args[a + 2], args[2]
  local m = redis.call('HMGET', meta, 'open', 'grant', 'tail')
  if m[1] then
    if m[1] ~= '1' or m[2] ~= grant then return { 0 } end
    return { 1, 1, tonumber(m[3]), server_life(), now }
  end
  local base = 0
  for i = a + 5, a + 4 + tonumber(args[a + 4]) do
    base = math.max(base, tonumber(redis.call('HGET', meta_of(prefix, args[i]), 'tail') or 0))
  end
  base = int(base + GAP)
  lease_term = tonumber(args[a + 3])
  redis.call('HSET', meta, 'open', '1', 'node', node, 'grant', grant, 'epoch', 1, 'until', int(now + lease_term),
    'fence', '1 ' .. grant, 'bell', node .. '\n' .. log, 'wide', WIDE, 'life', server_process(), 'cursor', base, 'tail', base)
  wrote(meta, '', now)
  redis.call('HSET', keys[k + 1], log, int(now))
  return { 1, 1, tonumber(base), server_life(), now }
end

-- Creates a log for a node, with a lease.
-- KEYS  a section: meta of the log, logs
register('make_log', function(keys, args)
  local now, results, a = now_ms(), {}, 3
  for s = 1, tonumber(args[1]) do
    results[s] = make_section(keys, s * 2 - 1, args, a, now)
    a = a + 5 + tonumber(args[a + 4])
  end
  return results
end, { 'allow-oom' })

-- A lease that another life of the server granted cannot join: its holder would not learn that it must check the partition.
local function join_one(prefix, log, partition, fence, life, cursor)
  local meta, mail, depths = keys_of_log(prefix, partition)
  local m = redis.call('HMGET', meta, 'fence', 'log', 'cursor', 'tail', 'held')
  local shares = log .. '\n' .. partition
  if m[2] == shares then return 'joined' end
  if m[1] ~= fence or (m[2] and m[2] ~= '') or not is_of_this_life(life) then return 'lost' end
  local tail = tonumber(m[4] or 0)
  if tail > tonumber(m[3] or 0) or count_postponed(prefix, partition) > 0 then return 'busy' end
  if tail >= cursor then return 'ahead' end
  redis.call('HSET', meta, 'log', shares, 'counted', '')
  redis.call('UNLINK', depths)
  redis.call('SADD', parts_of(prefix, log), partition)
  if tonumber(m[5] or 0) > 0 then redis.call('HINCRBY', meta_of(prefix, log), 'held', m[5]) end
  return 'joined'
end

-- Lets partitions share a log from now on.
-- KEYS  a section: meta of the log
-- ARGV  a section: log, fence, server life at the grant, n, then n times: partition, fence of its lease, server life at its grant
-- returns a section: n texts (joined | busy: messages wait | ahead: its numbers are | lost: its lease) | 0 (the log's lease is lost)
register('join_log', function(keys, args)
  local results, a = {}, 3
  for s = 1, tonumber(args[1]) do
    local n, m = tonumber(args[a + 3]), redis.call('HMGET', keys[s], 'fence', 'open', 'cursor')
    results[s] = 0
    if m[1] == args[a + 1] and m[2] == '1' and is_of_this_life(args[a + 2]) then
      results[s] = {}
      for i = 0, n - 1 do
        local p = a + 4 + i * 3
        results[s][i + 1] = join_one(args[2], args[a], args[p], args[p + 1], args[p + 2], tonumber(m[3]))
      end
    end
    a = a + 4 + 3 * n
  end
  return results
end, { 'allow-oom' })

-- Returns every partition to its own log, with numbers above all that this log will have. `ended`: the holder is dead, and the leases of the
-- partitions have ended with it.
local function close_log(prefix, log, meta, ended)
  local m = redis.call('HMGET', meta, 'open', 'tail')
  local cursor = int(tonumber(m[2]) + GAP)
  if m[1] == '1' then
    local partitions = redis.call('SMEMBERS', parts_of(prefix, log))
    for i = 1, #partitions do
      local own = meta_of(prefix, partitions[i])
      local node = redis.call('HGET', own, 'node') or ''
      redis.call('HSET', own, 'log', '', 'behind', log, 'cursor', cursor, 'tail', cursor, 'beside', '',
        'bell', node .. '\n' .. partitions[i])
      if ended then redis.call('HSET', own, 'node', '', 'grant', '', 'until', 0, 'fence', '', 'bell', '') end
    end
    redis.call('HSET', meta, 'open', '0')
  end
  return { tonumber(m[2]), tonumber(cursor) }
end

-- Closes a log, so that its partitions use their own logs again.
-- KEYS  a section: meta of the log
-- ARGV  a section: log, fence
-- returns a section: {number of its last entry, cursors of its partitions} | 0 (the lease is lost)
register('close_log', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local log, m = args[s * 2 + 1], redis.call('HMGET', keys[s], 'open', 'fence')
    if not m[1] then
      redis.call('HSET', keys[s], 'open', '0', 'tail', 0, 'cursor', 0)
      redis.call('PEXPIRE', keys[s], KNOWN_MS)
      results[s] = { 0, 0 }
    elseif m[2] ~= args[s * 2 + 2] then
      results[s] = 0
    else
      results[s] = close_log(args[2], log, keys[s], false)
    end
  end
  return results
end, { 'allow-oom' })

-- Takes over the log of a dead node, and closes it.
-- ARGV  a section: log, node, grant, ttlMs, over (the grant of a dead holder, or ''), caller, number of its call
-- returns a section: {1, epoch, cursor, results beside the mailbox, number of the last entry, server life, time of the grant,
--         1 | 0 (vouched for), partitions that no other holder has taken, `,`-separated, those of them with messages postponed, `,`-separated}
--         | {0, holder, remaining ms, its grant} | {2} (there is none)
local function adopt_section(meta, args, a, now)
  local log, node, grant, ttl, over = args[a], args[a + 1], args[a + 2], tonumber(args[a + 3]), args[a + 4]
  local m = redis.call('HMGET', meta, 'open', 'node', 'until', 'grant', 'epoch', 'cursor', 'beside', 'tail', 'life', 'callers', 'fence')
  if not m[1] or not m[11] or m[11] == '' then return { 2 } end
  local remaining = due_of(meta, '', tonumber(m[3] or 0), now) - now
  local asked = { caller = args[a + 5], number = args[a + 6] }
  if m[2] ~= node and m[4] ~= over and remaining > 0 then
    note_refused(meta, m[10], asked, now)
    return { 0, m[2], remaining, m[4] }
  end
  if is_behind(m[10], asked) and m[4] ~= grant then return { 0, m[2], math.max(remaining, 0), m[4] } end
  local epoch = tonumber(m[5])
  if m[4] ~= grant then epoch = epoch + 1 end -- the same grant again: its answer was lost
  redis.call('HSET', meta, 'node', node, 'grant', grant, 'epoch', epoch, 'until', int(now + ttl),
    'fence', epoch .. ' ' .. grant, 'bell', '', 'callers', callers_with(m[10], asked, now))
  lease_term = ttl
  wrote(meta, '', now)
  close_log(args[2], log, meta, true)
  local process, cursor = server_process(), tonumber(m[6])
  local vouched = process == '' or m[9] == process
  local shared, partitions, postponed = redis.call('SMEMBERS', parts_of(args[2], log)), {}, {}
  for i = 1, #shared do
    local own = meta_of(args[2], shared[i])
    if is_read_by(args[2], meta, own) then
      note_return(own, redis.call('HGET', own, 'back'), cursor, beside_at(m[7], cursor))
      partitions[#partitions + 1] = shared[i]
      if count_postponed(args[2], shared[i]) > 0 then postponed[#postponed + 1] = shared[i] end
    end
  end
  return { 1, epoch, cursor, beside_at(m[7], cursor), tonumber(m[8]), server_life(), now, vouched and 1 or 0,
    table.concat(partitions, ','), table.concat(postponed, ',') }
end

-- KEYS  a section: meta of the log
register('adopt_log', function(keys, args)
  local now, results = now_ms(), {}
  for s = 1, tonumber(args[1]) do results[s] = adopt_section(keys[s], args, s * 7 - 4, now) end
  return results
end, { 'allow-oom' })

-- Removes a closed log that has been read to its end.
-- KEYS  a section: meta, mail, journal, depths, parts (of the log), logs
-- ARGV  a section: log, fence
-- returns a section: 1 (removed) | 0 (the lease is lost, it is open, entries wait, or its journal is not empty)
register('remove_log', function(keys, args)
  local results = {}
  for s = 1, tonumber(args[1]) do
    local k = s * 6 - 5
    local m = redis.call('HMGET', keys[k], 'open', 'fence', 'cursor', 'tail')
    local ended = m[1] == '0' and m[2] == args[s * 2 + 2] and tonumber(m[3]) >= tonumber(m[4])
    if ended and redis.call('XLEN', keys[k + 2]) == 0 then
      redis.call('UNLINK', keys[k + 1], keys[k + 2], keys[k + 3], keys[k + 4])
      redis.call('HDEL', keys[k + 5], args[s * 2 + 1])
      redis.call('HSET', keys[k], 'fence', '', 'node', '', 'until', 0)
      redis.call('PEXPIRE', keys[k], KNOWN_MS)
      results[s] = 1
    else
      results[s] = (not m[1] or m[2] == '') and 1 or 0
    end
  end
  return results
end, { 'allow-oom' })
