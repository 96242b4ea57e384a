-- Entries of a mailbox: how they are written, read and counted, and how their reader is woken.
-- An entry is one message, or a pack: messages that one writer appended together. Its stream id is the number of its first
-- message, the others follow. Fields, in this order: `a` append time, `b` body (of a pack: the bodies in a row),
-- `n` of a pack: their lengths as `,`-separated UTF-16 units, `t` of client messages: their addresses, a line each.
-- Messages that carry no address are from timers, effects or other actors; those are not counted against the bound.

-- Entries read in one step, and bytes after which no further step is made.
local STEP, MOST_BYTES = 64, 4194304

local function add_entry(mail, seq, at, body, target)
  if target then redis.call('XADD', mail, int(seq) .. '-0', 'a', at, 'b', body, 't', target)
  else redis.call('XADD', mail, int(seq) .. '-0', 'a', at, 'b', body) end
end

-- Values of the fields `n` and `t`, nil for what an entry does not have.
local function lengths_and_targets(fields)
  if fields[5] == 'n' then return fields[6], fields[8] end
  return nil, fields[6]
end

local function messages_of(lengths)
  if not lengths then return 1 end
  local _, commas = string.gsub(lengths, ',', '')
  return commas + 1
end

local function number_of(row)
  return tonumber(string.match(row[1], '^%d+'))
end

-- The pack in which `seq` is not the last message; nil when `seq` ends an entry or there is none.
local function pack_around(mail, seq)
  local row = redis.call('XREVRANGE', mail, int(seq), '-', 'COUNT', 1)[1]
  if not row then return nil end
  local reach = number_of(row) + messages_of((lengths_and_targets(row[2]))) - 1
  return reach > seq and row or nil
end

-- Calls `visit` with each entry behind `after`, oldest first, up to the one with `last` (nil: to the end), until it answers
-- true. The first may begin at or before `after`: a reader can stop inside a pack.
local function each_entry(mail, after, last, visit)
  local from, stop = after + 1, last and int(last) or '+'
  while true do
    local rows = redis.call('XRANGE', mail, int(from), stop, 'COUNT', STEP)
    if from == after + 1 and (not rows[1] or number_of(rows[1]) ~= from) then
      local around = pack_around(mail, after)
      if around and visit(around) then return end
    end
    for i = 1, #rows do
      if visit(rows[i]) then return end
    end
    if #rows < STEP then return end
    from = number_of(rows[#rows]) + 1
  end
end

-- At least `limit` (text) messages behind `after`, in whole entries, fewer when there are not so many or they are large; with
-- `last` all up to that one. As {number of the first message, at, lengths or '', body, at, lengths or '', body ...}: it may begin
-- before `after + 1` and end behind `last`. Empty when none waits.
local function entries_behind(mail, after, limit, last)
  if limit == '0' then return {} end
  local flat, n, found, bytes, most = {}, 1, 0, 0, tonumber(limit)
  each_entry(mail, after, last, function(row)
    local fields = row[2]
    local lengths = lengths_and_targets(fields)
    if n == 1 then flat[1] = string.match(row[1], '^%d+') end
    flat[n + 1], flat[n + 2], flat[n + 3] = fields[2], lengths or '', fields[4]
    n, found, bytes = n + 3, found + messages_of(lengths), bytes + #fields[4]
    return not last and (found >= most or bytes >= MOST_BYTES)
  end)
  return flat
end

-- How many client messages of each address stand behind `after`, up to `last` (nil: to the end).
local function count_targets(mail, after, last, counts)
  each_entry(mail, after, last, function(row)
    local seq, _, targets = number_of(row) - 1, lengths_and_targets(row[2])
    for target in string.gmatch(targets or '', '[^\n]+') do
      seq = seq + 1
      if seq > after and (not last or seq <= last) then counts[target] = (counts[target] or 0) + 1 end
    end
  end)
  return counts
end

local function keep_counts(depths, counts)
  local fields = {}
  for target, count in pairs(counts) do fields[#fields + 1], fields[#fields + 2] = target, int(count) end
  variadic('HSET', depths, fields, 1, #fields)
end

-- The bound on an actor's waiting client messages. While fewer messages wait in the whole mailbox and none is held back, no
-- actor can be over it and none are counted. Beyond it they are counted once, from the mailbox: `depths` has the counts from
-- then on, and field `counted` of meta the bound; commit.lua ends that when half of the bound is left. `held` has the messages
-- that actors took and hold back, field `held` of meta how many actors do. m[at], m[at + 1] are these two fields.
-- Answers two functions from address to count, what waits in the mailbox and what is held back (nil when none can be over the
-- bound), and whether `depths` must be kept up.
local function depths_of(mail, depths, held, m, at, cursor, tail, bound, more, packs)
  local counted, holding = m[at] and m[at] ~= '', m[at + 1] and m[at + 1] ~= '0'
  local waiting = tail + more - cursor
  if not counted and not holding and waiting <= bound then return nil, nil, false end
  local counts = nil
  if not counted then
    counts = count_targets(mail, cursor, nil, {})
    counted = packs and waiting > bound
    if counted then
      redis.call('UNLINK', depths)
      keep_counts(depths, counts)
    end
  end
  local function waiting_of(target)
    if counts then return counts[target] or 0 end
    return tonumber(redis.call('HGET', depths, target) or 0)
  end
  local function held_of(target)
    return holding and tonumber(redis.call('HGET', held, target) or 0) or 0
  end
  return waiting_of, held_of, counted
end

-- The field `bell` of meta tells whom to wake at the next entry, as `node\npartition`; empty when that was done.
-- A wake-up carries the entries, unless they are large, so that its receiver needs no poll. `send_bells` publishes one
-- message a node: for each partition `partition\t first seq\t at\t body length\t ...` and a newline each, of a pack
-- `partition\t first seq\t at\t =lengths\t bytes`, then an empty line, then the bodies in a row (lengths in bytes).
local BELL_BYTES, PACK_BYTES = 16384, 262144

local function bell_of(bells, bell)
  local node, name = string.match(bell or '', '^([^\n]*)\n(.*)$')
  if not node then return nil end
  local held = bells[node]
  if not held then
    held = { head = {}, text = {} }
    bells[node] = held
  end
  return held, name
end

local function ring(bells, bell, first, now, bodies)
  local held, name = bell_of(bells, bell)
  if not held then return end
  local line, bytes = { name, int(first), int(now) }, 0
  for i = 1, #bodies do
    line[i + 3] = #bodies[i]
    bytes = bytes + #bodies[i]
  end
  if bytes > BELL_BYTES then
    line, bodies = { name }, {}
  end
  held.head[#held.head + 1] = table.concat(line, '\t')
  for i = 1, #bodies do held.text[#held.text + 1] = bodies[i] end
end

local function ring_pack(bells, bell, first, now, lengths, blob)
  local held, name = bell_of(bells, bell)
  if not held then return end
  local line = name
  if #blob <= PACK_BYTES then
    line = table.concat({ name, int(first), int(now), '=' .. lengths, #blob }, '\t')
    held.text[#held.text + 1] = blob
  end
  held.head[#held.head + 1] = line
end

local function send_bells(prefix, bells)
  for node, held in pairs(bells) do
    local message = table.concat(held.head, '\n') .. '\n\n' .. table.concat(held.text)
    redis.call('PUBLISH', prefix .. 'bell:' .. node, message)
  end
end
