-- Writes all changes of one batch of turns, or none (K3).
-- KEYS  a section: of the log meta, mail, journal, depths, replies; then of each partition that the commit changes (a
--       partition's own log has one, itself) meta, states, held;
--       with group t or c: timers, timer bodies; with f, x or q: effects, effect bodies; with o or s: outbox; with w or u: postponed;
--       with e or E: event tails, then the event stream of each item of the group; then of each partition of group R: states
-- ARGV  a section: number of keys, fence, after, upTo, commit id, readAhead, bell,
--       server life at the grant, append time of the entry at upTo or '', results beside the mailbox at `after` or '',
--       results beside it that this commit handled,
--       then groups `tag, count of arguments, arguments`, ended by the tag `.`; of the log:
--         j journal row       P replies: session, its replies as one text (replies.ts)
--         R of partitions in which only states change: for each the count of its arguments, then address, record
--         p, h as P and k in a fleet with programs of format 2: session, seen field, body; depth field, count
--       and of each partition, begun by the tag `@` with its name:
--         r states set: address, record        d states deleted: address
--         k replies to ids that callers gave: seen field, body
--         H client messages held back: address, how many more or fewer
--         s sends to partitions of this log: partition, body        o sends owed: partition, body
--         E events: address, first, n, data × n        e the same, in a fleet with programs of format 3
--         t timers set: id, afterMs, body      c timers cleared: id
--         f effects opened: id, runner or '', ttlMs, end of its row, body      x effects cancelled: id
--         q effects whose results this commit handled beside the mailbox: id, attempt
--         w messages postponed: number, append time, body        u numbers of those that this commit handled or dropped
-- returns a section: 0 (fenced) | 2 (unsettled, or a closed log whose partitions others have taken) |
--         {at, partitions that owe messages, `,`-separated, results beside the mailbox at upTo, entries (entries_behind)}

-- An id is a process in ID_CHARS characters and the number of its call.
local ID_CHARS = 12

-- Whether the process has made a later commit. Without this check a late copy of a commit that moves no cursor would be applied again.
local function is_behind(last, id)
  if not last or string.sub(last, 1, ID_CHARS) ~= string.sub(id, 1, ID_CHARS) then return false end
  return tonumber(string.sub(id, ID_CHARS + 1)) < tonumber(string.match(last, '^%d+', ID_CHARS + 1))
end

-- The answer to a repeated commit, whose first answer was lost with the list of partitions that owe messages. Nil for another commit.
local function repeated(last, mail, id, upto, ahead, parts, beside)
  if not last or string.sub(last, 1, #id + 1) ~= id .. ' ' then return nil end
  for i = 2, #parts do parts[i].owes = tonumber(redis.call('HGET', parts[i].meta, 'owed') or 0) > 0 end
  return { tonumber(string.sub(last, #id + 2)), owing_of(parts), beside, unpack(entries_behind(mail, upto, ahead)) }
end

-- Whether the entry at `upto` is the one that was handled. Checked only after the server's life changed: it may have lost
-- entries and given their numbers to others.
local function is_handled(mail, after, upto, life, at)
  if life == server_life() or upto == after or at == '' then return true end
  return entries_behind(mail, upto - 1, '1', upto)[2] == at
end

-- Whether the log still runs the turns of all partitions that the commit changes. Once a closed log is read, others take them.
local function has_all(prefix, meta, keys, args, parts, next_key)
  for i = 2, #parts do
    if not is_read_by(prefix, meta, parts[i].meta) then return false end
  end
  local i = parts[1].from.R
  while i and i <= parts[1].to.R do
    if not is_read_by(prefix, meta, (string.gsub(keys[next_key], 'states$', 'meta'))) then return false end
    next_key, i = next_key + 1, i + 1 + tonumber(args[i])
  end
  return true
end

local function commit_section(keys, k, args, a, parts, now, out)
  local meta, mail, from, to = keys[k], keys[k + 1], parts[1].from, parts[1].to
  local after, upto, ahead = tonumber(args[a + 2]), tonumber(args[a + 3]), args[a + 5]
  local fields = { 'fence', 'cursor', 'tail', 'log', 'commit', 'counted', 'beside', 'owed', 'open', 'kept_at' }
  if from.h then
    for i = from.h, to.h, 2 do fields[#fields + 1] = args[i] end
  end
  local m = redis.call('HMGET', meta, unpack(fields))
  local cursor, tail = tonumber(m[2] or 0), tonumber(m[3] or 0)
  local beside, next_key = beside_at(m[7], cursor), k + 5
  -- While a partition shares a log, nothing is committed to its own log.
  if m[1] ~= args[a + 1] or (m[4] and m[4] ~= '') or is_behind(m[5], args[a + 4]) then return 0 end
  for i = 2, #parts do
    next_key = name_keys(parts[i], keys, args, next_key)
    if parts[i].meta == meta then parts[i].owes = tonumber(m[8] or 0) > 0 end
  end
  if cursor == upto then
    local done = repeated(m[5], mail, args[a + 4], upto, ahead, parts, beside)
    if done then return done end
  end
  if cursor ~= after or upto < after or upto > tail then return 0 end
  if args[a + 9] ~= '' and tonumber(args[a + 9]) ~= beside then return 0 end
  if not is_handled(mail, after, upto, args[a + 7], args[a + 8]) then return 0 end
  -- Rows of the journal have different ids, also while the cursor stands still.
  local more = math.max(tonumber(args[a + 10]), upto == after and from.j and 1 or 0)
  beside = more + (upto == after and beside or 0)
  if beside > MOST_BESIDE then return 2 end
  if m[9] == '0' and not has_all(out.prefix, meta, keys, args, parts, next_key) then return 2 end
  for i = 2, #parts do
    local refused = check_part(parts[i], keys, args)
    if refused then return refused end
  end

  local set = { 'cursor', args[a + 3], 'commit', args[a + 4] .. ' ' .. int(now), 'bell', args[a + 6] }
  if more > 0 then set[#set + 1], set[#set + 2] = 'beside', int(upto) .. '-' .. int(beside) end
  if from.j then redis.call('XADD', keys[k + 2], int(upto) .. '-' .. int(beside), 'f', int(after), 'r', args[from.j]) end
  if from.p then collect_replies(out.replies, args, from.p, to.p, set) end
  if from.P then keep_replies(keys[k + 4], upto, args, from.P, to.P, out.prefix, m[10], now, set) end
  local sent = tail
  for i = 2, #parts do
    local part = parts[i]
    write_part(part, keys, args, meta, now, out)
    if part.from.s or part.from.o then tail, part.owes = write_sends(part, args, mail, tail, now, part.meta ~= meta, m[9] == '0') end
  end
  if from.R then
    local i = from.R
    while i <= to.R do
      local last = i + tonumber(args[i])
      if last > i then variadic('HSET', keys[next_key], args, i + 1, last) end
      next_key, i = next_key + 1, last + 1
    end
  end
  if tail > sent then set[#set + 1], set[#set + 2] = 'tail', int(tail) end
  if from.h then lower_depths(m, 10, args, from.h, to.h, set) end
  if m[6] and m[6] ~= '' then lower_counts(mail, keys[k + 3], after, upto, tail, tonumber(m[6]), set) end
  -- This reply has the waiting entries; the next wake-up is for later ones only.
  local next = {}
  if tail > upto then
    next = entries_behind(mail, upto, ahead)
    set[6] = ''
    if #next == 0 then ring(out.bells, args[a + 6], upto + 1, now, {}) end
  end
  variadic('HSET', meta, set, 1, #set)
  return { now, owing_of(parts), beside, unpack(next) }
end

register('commit', function(keys, args)
  local out = { prefix = args[2], bells = {}, replies = {}, cancelled = {} }
  local now, results = now_ms(), {}
  local k, a = 1, 3
  for s = 1, tonumber(args[1]) do
    local parts, next = groups_of(args, a + 11)
    results[s] = commit_section(keys, k, args, a, parts, now, out)
    k, a = k + tonumber(args[a]), next
  end
  send_replies(out.prefix, out.replies)
  send_bells(out.prefix, out.bells)
  if #out.cancelled > 0 then publish(out.prefix, 'cancel', table.concat(out.cancelled, '\n')) end
  return results
end)
