-- Claims, renews, reopens and ends effects. The row of an effect decides which runner may run it and which result counts (E1, E2).
-- A row is `status\nattempt\nuntil\nrunner\nmode\nqueue\naddress\nclaims\nfairness key\nlast error`; status is open or started
-- (_commit_parts.lua reads it); claims are the ids of the last tries to start an attempt, newest first, empty before the first;
-- the last error is `CODE MESSAGE` of the last attempt that failed. The last three may be absent.
-- KEYS  a section of all functions: effects, effect bodies, meta, mail, older seen ids

local function write_row(key, id, status, attempt, due, runner, rest)
  redis.call('HSET', key, id, table.concat({ status, attempt, int(due), runner, rest }, '\n'))
  wrote(key, id, now_ms())
end

-- Mode, queue and address; the ids of claims; the fairness key and the last error. Empty for missing ones.
local function split_rest(rest)
  return string.match(rest, '^([^\n]*\n[^\n]*\n[^\n]*)\n?([^\n]*)\n?(.*)$')
end

local function with_error(rest, line)
  local what, known, behind = split_rest(rest)
  return table.concat({ what, known, string.match(behind, '^[^\n]*'), line }, '\n')
end

-- Whether `claimer` is a later incarnation of the runner's node (`node/incarnation`), so that the runner has ended.
local function later_life(runner, claimer)
  return runner ~= claimer and string.match(runner, '^(.*)/') == string.match(claimer, '^(.*)/')
end

local function each_section(args, width, section)
  local results = {}
  for s = 1, tonumber(args[1]) do results[s] = section(s * 5 - 4, 3 + (s - 1) * width) end
  return results
end

-- Number of claim ids that are kept, one for each attempt, to recognise late copies of claims.
local KNOWN_CLAIMS = 4

local function with_claim(claim, known)
  local ids = { claim }
  for id in string.gmatch(known, '%S+') do
    if #ids < KNOWN_CLAIMS then ids[#ids + 1] = id end
  end
  return table.concat(ids, ' ')
end

-- No effect is claimed in a partition that its holder has not checked in this life of the server (lease.lua).
local UNVOUCHED_MS = 500

local function claim_section(keys, k, id, claimer, ttl, over, claim, now)
  local row, vouched = read_row(keys[k], id), redis.call('HGET', keys[k + 2], 'life')
  if not row then return { 'gone' } end
  local started = row.status == 'started'
  local what, known, fairness_key = split_rest(row.rest)
  local mode = string.match(what, '^%l+')
  local again = claim ~= '' and string.find(' ' .. known .. ' ', ' ' .. claim .. ' ', 1, true) ~= nil
  local same = again and string.match(known, '^%S*') == claim and started and row.runner == claimer
  if not same then
    -- That attempt ended, and the answer to its claim was lost: a late copy of the claim starts nothing.
    if again then return { 'busy', UNVOUCHED_MS, row.runner, mode } end
    local due = started and due_of(keys[k], id, row.due, now) or row.due
    local dead = started and (row.runner == over or later_life(row.runner, claimer))
    if due > now and not dead then return { 'busy', due - now, row.runner, mode } end
    if vouched and server_process() ~= '' and vouched ~= server_process() then return { 'busy', UNVOUCHED_MS, '', mode } end
    if started and mode == 'once' then return { 'in_doubt', row.attempt, redis.call('HGET', keys[k + 1], id) } end
    row.attempt, known = row.attempt + 1, with_claim(claim, known)
  end
  write_row(keys[k], id, 'started', row.attempt, now + ttl, claimer, what .. '\n' .. known .. '\n' .. fairness_key)
  return { 'claimed', row.attempt, redis.call('HGET', keys[k + 1], id) }
end

-- Claims an effect for a runner, which starts its next attempt.
-- ARGV  a section: id, runner, ttlMs, over (a dead runner, or ''), claim (the id of this try, or '')
-- returns a section: {'claimed' | 'in_doubt', attempt, body} | {'busy', ms, runner or '', mode} | {'gone'}
register('claim_effect', function(keys, args)
  local now = now_ms()
  return each_section(args, 5, function(k, a)
    return claim_section(keys, k, args[a], args[a + 1], tonumber(args[a + 2]), args[a + 3], args[a + 4], now)
  end)
end)

-- Extends the claim of a running attempt.
-- ARGV  a section: id, attempt, ttlMs
-- returns a section: 1 | 0 (not running at this attempt)
register('keep_effect', function(keys, args)
  local now = now_ms()
  return each_section(args, 3, function(k, a)
    local row = read_row(keys[k], args[a])
    if not running(row, args[a + 1]) then return 0 end
    write_row(keys[k], args[a], 'started', row.attempt, now + tonumber(args[a + 2]), row.runner, row.rest)
    return 1
  end)
end, { 'allow-oom' })

-- Ends an attempt without a result, so that the next one can be claimed after the delay.
-- ARGV  a section: id, attempt, delayMs, runner (only an attempt of this runner; '': of any), error ('' keeps the last one)
-- returns a section: 1 | 0 (not running at this attempt)
register('reopen_effect', function(keys, args)
  local now = now_ms()
  return each_section(args, 5, function(k, a)
    local row, runner = read_row(keys[k], args[a]), args[a + 3]
    if not running(row, args[a + 1]) or (runner ~= '' and row.runner ~= runner) then return 0 end
    local rest = args[a + 4] == '' and row.rest or with_error(row.rest, args[a + 4])
    write_row(keys[k], args[a], 'open', row.attempt, now + tonumber(args[a + 2]), '', rest)
    return 1
  end)
end, { 'allow-oom' })

-- Appends a result to the mailbox once; with `final` closes the effect in the same step.
-- ARGV  a section: id, attempt, final (1 | 0), seen field, when it was sent (this server's clock, never ahead of it), body
-- returns a section: 1 | 0 (dropped) | -1 (late: it may have been seen and forgotten)
register('report_effect', function(keys, args)
  local now, bells = now_ms(), {}
  local results = each_section(args, 6, function(k, a)
    local meta, id, message = keys[k + 2], args[a], args[a + 3]
    local m = redis.call('HMGET', meta, 'tail', 'bell', 'cursor', 'log', message, unpack(GENERATION))
    if m[5] or redis.call('HEXISTS', keys[k + 4], message) == 1 then return 1 end
    if not running(read_row(keys[k], id), args[a + 1]) then return 0 end
    mend_times(meta, m, 6, now)
    if not remembers_since(args[a + 4], m, 6, now) then return -1 end
    if args[a + 2] == '1' then
      redis.call('HDEL', keys[k], id)
      redis.call('HDEL', keys[k + 1], id)
    end
    local box = box_of(args[2], meta, keys[k + 3], nil, m[4])
    local b = box.log and redis.call('HMGET', box.meta, 'tail', 'bell', 'cursor') or m
    local tail, set = tonumber(b[1] or 0) + 1, { message, NO_REPLY }
    age_ids(meta, keys[k + 4], tonumber(b[3] or 0), tail - 1, m, 6, 1, now, set)
    add_entry(box.mail, tail, now, args[a + 5], nil, box.partition)
    redis.call('HSET', meta, unpack(set))
    redis.call('HSET', box.meta, 'tail', int(tail), 'bell', '')
    ring(bells, b[2], tail, now, { args[a + 5] }, box.partition)
    return 1
  end)
  send_bells(args[2], bells)
  return results
end)
