-- A value too long for a listpack: Redis keeps meta as a hash table, where a field is found without a scan.
local WIDE = '.................................................................'

-- Field `callers` of a meta: the processes that asked for the lease, each with the number of its last such call, granted or refused, and
-- the time of that call. One line `caller number time` for each, the process that asked last at the end. A process that has not asked
-- for ASKED_MS is removed, and at most MOST_CALLERS are kept.
local MOST_CALLERS, ASKED_MS = 64, 3600000

-- Whether a call is not newer than the last one of its process, so that it is a late copy. It could get a released lease for a process
-- that does not know of it.
local function is_behind(noted, asked)
  for caller, last in string.gmatch(noted or '', '(%S+) (%d+) %d+') do
    if caller == asked.caller then return tonumber(last) >= tonumber(asked.number) end
  end
  return false
end

-- The field with this call.
local function callers_with(noted, asked, now)
  if is_behind(noted, asked) then return noted end
  local lines = {}
  for caller, last, at in string.gmatch(noted or '', '(%S+) (%d+) (%d+)') do
    local stays = caller ~= asked.caller and now - tonumber(at) < ASKED_MS
    if stays then lines[#lines + 1] = caller .. ' ' .. last .. ' ' .. at end
  end
  lines[#lines + 1] = asked.caller .. ' ' .. asked.number .. ' ' .. int(now)
  return table.concat(lines, '\n', math.max(1, #lines - MOST_CALLERS + 1))
end

local function note_refused(meta, noted, asked, now)
  local callers = callers_with(noted, asked, now)
  if callers ~= noted then redis.call('HSET', meta, 'callers', callers) end
end

-- The holder of a shared log; nil when no log has that name.
local function holder_of(prefix, name)
  local meta = keys_of_log(prefix, name)
  local m = redis.call('HMGET', meta, 'open', 'node', 'until', 'grant', 'cursor', 'tail')
  if not m[1] then return nil end
  local function remaining(now) return due_of(meta, '', tonumber(m[3] or 0), now) - now end
  return { name = name, meta = meta, open = m[1] == '1', node = m[2] or '', grant = m[4] or '', remaining = remaining,
    unread = tonumber(m[6] or 0) > tonumber(m[5] or 0) }
end

-- The shared log whose entries come before those of the partition's own mailbox: the one that it shares (`shared`, field `log` of its
-- meta), or the last one that it shared (`behind`) while that has unhandled entries. Nil for none.
local function unread_log(prefix, shared, behind)
  local name = string.match(shared or '', '^[^\n]+')
  local log = name and holder_of(prefix, name)
  if log then return log end
  log = behind and behind ~= '' and holder_of(prefix, behind)
  return log and log.unread and log or nil
end

-- Whether the holder of the log `meta` runs the turns of a partition. It does when the log is the partition's own and the partition shares
-- none, when the partition shares the log, and when it shared the log last and no other holder has taken the partition.
local function is_read_by(prefix, meta, partition_meta)
  local m = redis.call('HMGET', partition_meta, 'log', 'behind')
  local shared = string.match(m[1] or '', '^[^\n]+')
  if meta == partition_meta then return not shared end
  return (keys_of_log(prefix, shared or m[2] or '')) == meta
end

-- Field `back` of a partition's meta: a server's process, and the partition's position when that process granted it first. A server that
-- restarted, or became master in a failover, may have returned to an older state.
local BACK = '^(%x+) (%d+) (%d+)$'

local function note_return(meta, back, cursor, beside)
  local process = server_process()
  if process == '' or string.match(back or '', BACK) == process then return end
  redis.call('HSET', meta, 'back', process .. ' ' .. int(cursor) .. ' ' .. int(beside))
end

-- Cursor, and count of results beside the mailbox, by `back`. When this server has not granted the partition yet: the present ones, of the
-- log that the partition shares, or of the last one that it shared while that is not read to its end.
local function position_at_return(prefix, meta, process)
  local m = redis.call('HMGET', meta, 'back', 'cursor', 'beside', 'log', 'behind')
  local by, cursor, beside = string.match(m[1] or '', BACK)
  if by == process then return { tonumber(cursor), tonumber(beside) } end
  local log, at = unread_log(prefix, m[4], m[5]), { m[2], m[3] }
  if log then at = redis.call('HMGET', log.meta, 'cursor', 'beside') end
  cursor = tonumber(at[1] or 0)
  return { cursor, beside_at(at[2], cursor) }
end
