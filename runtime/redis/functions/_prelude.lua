-- Shared by every function of the library; the loader puts it in front of them.
-- A function here gets KEYS and ARGV flat. ARGV[1] = number of sections, ARGV[2] = prefix of keys and channels; behind a tab,
-- where logs share slots, the slot tag of all logs of the call (runtime/redis/keys.ts). Functions read it without the tag.
-- Each section takes its own run of keys and arguments. The answer is one element a section.
-- A function does not roll back: a section checks everything before its first write.

-- Value of a seen message id that has no recorded reply.
local NO_REPLY = '\0'
-- unpack() of more than about 8,000 values overflows Lua's stack. Even, so that pairs stay together.
local CHUNK = 4000

-- Of the call that runs; nil where each log has a slot of its own.
local slot_tag = nil

local function split_prefix(args)
  local at = args[2] and string.find(args[2], '\t', 1, true)
  slot_tag = at and string.sub(args[2], at + 1) or nil
  if at then args[2] = string.sub(args[2], 1, at - 1) end
end

-- What the keys of a log or partition begin with (Keys.of).
local function base_of(prefix, name)
  if slot_tag then return '{' .. prefix .. slot_tag .. '}:' .. name .. ':' end
  return '{' .. prefix .. name .. '}:'
end

-- Where logs share slots in the slot of the call: a plain message is carried to all servers of a Cluster (Keys, `heard`).
local function publish(prefix, channel, message)
  if slot_tag then
    redis.call('SPUBLISH', '{' .. prefix .. slot_tag .. '}:' .. channel, message)
  else
    redis.call('PUBLISH', prefix .. channel, message)
  end
end

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Names the life of this server: its process and the history that it writes. A server that was started again, or took over from another,
-- has another one, and may have lost what its clients remember. Asked once: a library that is loaded again finds the same name, and a
-- server that copied the data of another loads the library again.
local known_life, known_process = nil, ''

local function server_life()
  if not known_life then
    local process, history = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
    if type(process) == 'string' and type(history) == 'string' then
      known_process = string.match(process, 'run_id:(%x+)') or ''
      known_life = known_process .. ' ' .. (string.match(history, 'master_replid:(%x+)') or '')
    else
      -- A user who may not ask: the time of the first question is another one in each life too.
      known_life = table.concat(redis.call('TIME'), ' ')
    end
  end
  return known_life
end

-- Whether a lease was granted by this life of the server; '' is not known.
local function is_of_this_life(life)
  return life == '' or life == server_life()
end

-- The same without the history: what is stored of it must be the same for the libraries of two releases. Empty: not known.
local function server_process()
  server_life()
  return known_process
end

-- A store that was away is not a death. When no node could write for SILENCE_MS, or for two fifths of a lease, or this
-- server is new, then leases and claims that held when it went away (`gone_at`; 0 is unknown) hold for one more term after
-- it came back (`back_at`). What was written since then counts as written: `written` has it for as long as that matters.
local SILENCE_MS, DEFAULT_TERM_MS = 2400, 6000
local heard_at, gone_at, back_at, lease_term, written = nil, 0, 0, DEFAULT_TERM_MS, {}

local function is_silent(now)
  return not heard_at or now - heard_at > math.max(SILENCE_MS, lease_term * 0.4)
end

-- Every function that writes calls this first.
local function hear(now)
  if is_silent(now) then
    -- A store that goes away twice in short order was away once: some have not come back in between.
    if not heard_at or heard_at - back_at > 2 * SILENCE_MS then gone_at = heard_at or 0 end
    back_at, written = now, {}
  end
  heard_at = now
end

-- A lease or claim was written now, named by its key and its field in it. The next lease may have a longer term than this one.
local function wrote(key, field, now)
  if now < back_at + math.max(lease_term, DEFAULT_TERM_MS) then written[key .. '\n' .. field] = true end
end

-- When it runs out. `gone` is when the server went away, where the caller knows better.
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
    split_prefix(args)
    if writes then hear(now_ms()) end
    return callback(keys, args)
  end
  redis.register_function({ function_name = LIBRARY .. '_' .. name, callback = called, flags = flags or {} })
end
