-- Shared by all functions of the library: the loader puts this file before them.
-- One call serves many partitions, each by a section: a run of KEYS and ARGV of its own. ARGV[1] is the number of sections, ARGV[2] the
-- prefix of keys and channels; where logs share slots, a tab and the slot tag of the call's logs follow it (runtime/redis/keys.ts), and
-- functions read it without the tag. The answer has one element for each section.
-- A function does not roll back: a section checks everything before its first write.

-- Value of a seen message id that has no recorded reply.
local NO_REPLY = '\0'
-- unpack() of more than about 8,000 values overflows Lua's stack. Even, so that pairs stay together.
local CHUNK = 4000

-- Slot tag of the running call; nil where each log has a slot of its own.
local slot_tag = nil

local function split_prefix(args)
  local at = args[2] and string.find(args[2], '\t', 1, true)
  slot_tag = at and string.sub(args[2], at + 1) or nil
  if at then args[2] = string.sub(args[2], 1, at - 1) end
end

-- Beginning of all keys of a log or partition (Keys.of).
local function base_of(prefix, name)
  if slot_tag then return '{' .. prefix .. slot_tag .. '}:' .. name .. ':' end
  return '{' .. prefix .. name .. '}:'
end

-- Publishes a message. Where logs share slots it goes to the slot of the call (sharded pub/sub), because a Cluster carries a plain
-- message to all its servers (Keys, `subscribed`).
local function publish(prefix, channel, message)
  if slot_tag then
    redis.call('SPUBLISH', '{' .. prefix .. slot_tag .. '}:' .. channel, message)
  else
    redis.call('PUBLISH', prefix .. channel, message)
  end
end

-- The time of the running call, read once per call.
local call_at = nil

local function now_ms()
  if not call_at then
    local time = redis.call('TIME')
    call_at = time[1] * 1000 + math.floor(time[2] / 1000)
  end
  return call_at
end

-- Identifies the life of this server: its process (run_id) and its replication history. A server that restarted, or became master in a
-- failover, has another life and may have lost writes that its clients know. Read once: a library that is loaded again finds the same
-- name, and a server that copied the data of another one loads the library again.
local known_life, known_process = nil, ''

local function server_life()
  if not known_life then
    local process, history = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
    if type(process) == 'string' and type(history) == 'string' then
      known_process = string.match(process, 'run_id:(%x+)') or ''
      known_life = known_process .. ' ' .. (string.match(history, 'master_replid:(%x+)') or '')
    else
      -- This user may not call INFO. The time of the first call serves as well: it differs in each life.
      known_life = table.concat(redis.call('TIME'), ' ')
    end
  end
  return known_life
end

-- Whether this life of the server granted a lease. `life` is '' when the caller does not know it.
local function is_of_this_life(life)
  return life == '' or life == server_life()
end

-- The process alone, without the history. It is stored, so the libraries of two releases must write the same. Empty: not known.
local function server_process()
  server_life()
  return known_process
end

-- An outage of the store is not the death of a node. When no node could write for SILENCE_MS, or for two fifths of a lease, or this
-- server is new, leases and claims that were valid when the outage began (`gone_at`; 0: unknown) stay valid for one more term after its
-- end (`back_at`). `written` holds those that were renewed since then: they expire by their own time.
local SILENCE_MS, DEFAULT_TERM_MS = 2400, 6000
local heard_at, gone_at, back_at, lease_term, written = nil, 0, 0, DEFAULT_TERM_MS, {}

local function is_silent(now)
  return not heard_at or now - heard_at > math.max(SILENCE_MS, lease_term * 0.4)
end

-- Notes that the server serves calls now. Every function that writes calls it first.
local function hear(now)
  if is_silent(now) then
    -- Two outages in quick succession count as one: some nodes have not written in between.
    if not heard_at or heard_at - back_at > 2 * SILENCE_MS then gone_at = heard_at or 0 end
    back_at, written = now, {}
  end
  heard_at = now
end

-- Notes that a lease or claim was written now; `key` and `field` name it. The next lease may have a longer term than this one.
local function wrote(key, field, now)
  if now < back_at + math.max(lease_term, DEFAULT_TERM_MS) then written[key .. '\n' .. field] = true end
end

-- Expiry of a lease or claim. `gone`: start of the outage, where the caller knows it better.
local function due_of(key, field, due, now, gone)
  local away = is_silent(now)
  local went, back = away and (heard_at or 0) or gone_at, away and now or back_at
  if due == 0 or now >= back + lease_term or (not away and written[key .. '\n' .. field]) then return due end
  if due <= (went > 0 and went or gone or 0) then return due end
  return math.max(due, back + lease_term)
end

-- Integers as text. tostring() would write 1e+15, and a number given to redis.call is formatted slowly.
local function int(n)
  return string.format('%d', n)
end

-- Runs a variadic command over list[from..to].
local function variadic(command, key, list, from, to)
  while from <= to do
    local last = from + CHUNK - 1
    if last > to then last = to end
    redis.call(command, key, unpack(list, from, last))
    from = last + 1
  end
end

local function register(name, callback, flags)
  local writes = not flags or flags[1] ~= 'no-writes'
  local function called(keys, args)
    call_at = nil
    split_prefix(args)
    if writes then hear(now_ms()) end
    return callback(keys, args)
  end
  redis.register_function({ function_name = LIBRARY .. '_' .. name, callback = called, flags = flags or {} })
end
