import { STORED_ABOVE_BYTES } from '../../../manifests/tool/call.ts';
import { COMMAND_TAIL_CHARS } from '../../../manifests/tool/command-result.ts';
import { textContent } from '../../../manifests/tool/stored-result.ts';
import { type Address, tenantOf } from '../../../runtime/address.ts';
import type { Blobs } from '../../../runtime/blobs.ts';
import type { JsonObject } from '../../../runtime/json.ts';
import type { DispatchResult } from '../dispatch-api.ts';

/**
 * A result as the message DispatchEnded carries it: a large one is stored aside whole, as those of tools in the node are. The
 * same result again has the same reference.
 */
export async function withoutBulk(
  blobs: Pick<Blobs, 'put'>,
  address: Address,
  result: DispatchResult,
): Promise<JsonObject> {
  const { stdout, stderr, exit_code } = result;
  const structured = { stdout, stderr, exit_code };
  const text = JSON.stringify(structured);
  const whole = Buffer.from(JSON.stringify({ content: textContent(text), structured }));
  if (whole.length <= STORED_ABOVE_BYTES) return { ...result };
  const ends = { stdout: stdout.slice(-COMMAND_TAIL_CHARS), stderr: stderr.slice(-COMMAND_TAIL_CHARS) };
  // Of one that broke a ceiling only its end is told.
  if (result.truncated) return { ...result, ...ends };
  const ref = await blobs.put(tenantOf(address), whole, address);
  return { ...result, ...ends, stored: { ref, bytes: whole.length, head: text.slice(0, STORED_ABOVE_BYTES) } };
}
