import type { Json, JsonObject } from '../../runtime/json.ts';

/** Version 1 knew no tools and no containers; version 2 no learned patterns and no owners, which a state may lack. */
export function migrate(state: Json, fromVersion: number): Json {
  if (fromVersion >= 2 || !isObject(state) || state.status === 'pending') return state;
  const counted = { ...state, tool_calls_executed: 0, calls_in_doubt: [] };
  if (state.status !== 'running' || !isObject(state.plan)) return counted;
  const tools = { manifest: [], network: null, filesystem: null };
  const plan = { ...state.plan, tool_checks: [], tools, container: null };
  return { ...counted, plan, sessions: [], tool_history: [] };
}

const isObject = (value: Json | undefined): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);
