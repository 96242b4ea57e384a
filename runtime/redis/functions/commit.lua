-- Writes all that one batch of turns changed, or nothing (design K3).
-- KEYS  a section: meta, mail, states, journal, depths, replies, held,
--       with group t or c: timers, timer bodies; with f, x or q: effects, effect bodies; with o: outbox;
--       with e: event tails, then the event stream of each item of the group
-- ARGV  a section: number of keys, fence, after, upTo, commit id, readAhead, bell,
--       server life at the grant, append time of the entry at upTo or '', results beside the mailbox at `after` or '',
--       results beside it that this commit handled,
--       then groups `tag, count of arguments, arguments`, ended by the tag `.`:
--         r states set: address, record        d states deleted: address       j journal row
--         P replies: session, its replies as one text (replies.ts)      k of these, to ids that callers gave: seen field, body
--         H client messages held back: address, how many more or fewer
--         p, h as P and k in a fleet with programs of format 2: session, seen field, body; depth field, count
--               s sends to this partition: body
--         o sends owed: partition, body        e events: address, first, n, data × n
--         t timers set: id, afterMs, body      c timers cleared: id
--         f effects opened: id, runner or '', ttlMs, end of its row, body      x effects cancelled: id
--         q effects whose results this commit handled beside the mailbox: id, attempt
-- returns a section: 0 (fenced) | 2 (unsettled) | {at, owes, results beside the mailbox at upTo, entries (entries_behind)}

-- Keys that only some commits carry, by what they hold.
local function optional_keys(k, from)
  local at = {}
  if from.t or from.c then at.timers, k = k, k + 2 end
  if from.f or from.x or from.q then at.effects, k = k, k + 2 end
  if from.o then at.outbox, k = k, k + 1 end
  at.events = k
  return at
end

local function write_rest(keys, at, args, from, to, now, out)
  if from.c then
    variadic('ZREM', keys[at.timers], args, from.c, to.c)
    variadic('HDEL', keys[at.timers + 1], args, from.c, to.c)
  end
  if from.t then set_timers(keys[at.timers], keys[at.timers + 1], args, from.t, to.t, now) end
  if from.f then open_effects(keys[at.effects], keys[at.effects + 1], args, from.f, to.f, now) end
  if from.x then
    variadic('HDEL', keys[at.effects], args, from.x, to.x)
    variadic('HDEL', keys[at.effects + 1], args, from.x, to.x)
    for i = from.x, to.x do out.cancelled[#out.cancelled + 1] = args[i] end
  end
end

-- An id is a process in ID_CHARS characters and the number of its call.
local ID_CHARS = 12

-- Whether the process has committed later ones since: a copy that moves no cursor would be applied again.
local function is_behind(last, id)
  if not last or string.sub(last, 1, ID_CHARS) ~= string.sub(id, 1, ID_CHARS) then return false end
  return tonumber(string.sub(id, ID_CHARS + 1)) < tonumber(string.match(last, '^%d+', ID_CHARS + 1))
end

-- The same commit again: its answer was lost. Nil when it is another one.
local function repeated(last, mail, id, upto, ahead, owed, beside)
  if not last or string.sub(last, 1, #id + 1) ~= id .. ' ' then return nil end
  return { tonumber(string.sub(last, #id + 2)), owed, beside, unpack(entries_behind(mail, upto, ahead)) }
end

-- Whether the entry at `upto` is the one that was handled. Only a server of another life is looked at: it may have lost
-- entries and given their numbers to others.
local function is_handled(mail, after, upto, life, at)
  if life == server_life() or upto == after or at == '' then return true end
  return entries_behind(mail, upto - 1, '1', upto)[2] == at
end

local function commit_section(keys, k, args, a, from, to, now, out)
  local meta, mail = keys[k], keys[k + 1]
  local after, upto, ahead = tonumber(args[a + 2]), tonumber(args[a + 3]), args[a + 5]
  local fields = { 'fence', 'cursor', 'tail', 'owed', 'commit', 'counted', 'beside' }
  if from.h then
    for i = from.h, to.h, 2 do fields[#fields + 1] = args[i] end
  end
  local m = redis.call('HMGET', meta, unpack(fields))
  local cursor, tail, owed = tonumber(m[2] or 0), tonumber(m[3] or 0), tonumber(m[4] or 0)
  local beside = beside_at(m[7], cursor)
  if m[1] ~= args[a + 1] or is_behind(m[5], args[a + 4]) then return 0 end
  if cursor == upto then
    local done = repeated(m[5], mail, args[a + 4], upto, ahead, owed, beside)
    if done then return done end
  end
  if cursor ~= after or upto < after or upto > tail then return 0 end
  if args[a + 9] ~= '' and tonumber(args[a + 9]) ~= beside then return 0 end
  if not is_handled(mail, after, upto, args[a + 7], args[a + 8]) then return 0 end
  local at, tails = optional_keys(k + 7, from), nil
  -- Rows of the journal have different ids, also while the cursor stands still.
  local more = math.max(tonumber(args[a + 10]), upto == after and from.j and 1 or 0)
  beside = more + (upto == after and beside or 0)
  if beside > MOST_BESIDE then return 2 end
  if from.q and not all_running(keys[at.effects], args, from.q, to.q) then return 2 end
  if from.e then
    tails = event_tails(keys[at.events], args, from.e, to.e)
    if not tails then return 0 end
  end

  local set = { 'cursor', args[a + 3], 'commit', args[a + 4] .. ' ' .. int(now), 'bell', args[a + 6] }
  if from.q then close_effects(keys[at.effects], keys[at.effects + 1], args, from.q, to.q) end
  if more > 0 then set[#set + 1], set[#set + 2] = 'beside', int(upto) .. '-' .. int(beside) end
  if from.r then variadic('HSET', keys[k + 2], args, from.r, to.r) end
  if from.d then variadic('HDEL', keys[k + 2], args, from.d, to.d) end
  if from.j then redis.call('XADD', keys[k + 3], int(upto) .. '-' .. int(beside), 'f', int(after), 'r', args[from.j]) end
  if from.p then collect_replies(out.replies, args, from.p, to.p, set) end
  if from.P then keep_replies(keys[k + 5], upto, args, from.P, to.P, out.prefix) end
  if from.H then hold_back(keys[k + 6], args, from.H, to.H, set) end
  if from.k then
    for i = from.k, to.k do set[#set + 1] = args[i] end
  end
  if from.e then write_events(keys, at.events, args, from.e, to.e, out.prefix, tails) end
  write_rest(keys, at, args, from, to, now, out)
  if from.s then
    for i = from.s, to.s do
      tail = tail + 1
      add_entry(mail, tail, now, args[i])
    end
    set[#set + 1], set[#set + 2] = 'tail', int(tail)
  end
  if from.o then
    owed = owed + (to.o - from.o + 1) / 2
    local last = tonumber(redis.call('HGET', meta, 'out') or 0)
    set[#set + 1], set[#set + 2] = 'owed', int(owed)
    set[#set + 1], set[#set + 2] = 'out', int(owe(keys[at.outbox], last, args, from.o, to.o, now))
  end
  if from.h then lower_depths(m, 7, args, from.h, to.h, set) end
  if m[6] and m[6] ~= '' then lower_counts(mail, keys[k + 4], after, upto, tail, tonumber(m[6]), set) end
  -- The caller gets what waits in this reply; the next wake-up is armed for later entries only.
  local next = {}
  if tail > upto then
    next = entries_behind(mail, upto, ahead)
    set[6] = ''
    if #next == 0 then ring(out.bells, args[a + 6], upto + 1, now, {}) end
  end
  variadic('HSET', meta, set, 1, #set)
  return { now, owed, beside, unpack(next) }
end

register('commit', function(keys, args)
  local out = { prefix = args[2], bells = {}, replies = {}, cancelled = {} }
  local now, results = now_ms(), {}
  local k, a = 1, 3
  for s = 1, tonumber(args[1]) do
    local from, to, next = groups_of(args, a + 11)
    results[s] = commit_section(keys, k, args, a, from, to, now, out)
    k, a = k + tonumber(args[a]), next
  end
  send_replies(out.prefix, out.replies)
  send_bells(out.prefix, out.bells)
  if #out.cancelled > 0 then redis.call('PUBLISH', out.prefix .. 'cancel', table.concat(out.cancelled, '\n')) end
  return results
end)
