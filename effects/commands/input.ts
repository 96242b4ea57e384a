import { StringDecoder } from 'node:string_decoder';
import { z } from 'zod';
import { KnownVolume } from '../../manifests/metadata.ts';
import { Command } from '../../usecases/ports/commands.ts';
import { Segment } from '../programs/input.ts';
import { Mounts } from '../programs/mounts.ts';

/** Input of the effect `command.run`. */
export const CommandInput = Command.extend({
  execution_id: Segment,
  state_name: z.string().max(256).optional(),
  /** `implicit`: the workspace of an execution without storage, made by the first that needs it. */
  workspace: z.object({
    volume_id: z.string().min(1).max(128),
    implicit: z.boolean(),
    /** Absent in what a run asked for that did not know it yet: then its record is looked up. */
    known: KnownVolume.optional(),
  }),
  mounts: Mounts.optional(),
});

export type CommandInput = z.output<typeof CommandInput>;

interface Streams {
  readonly stdout: string;
  readonly stderr: string;
}

/** Both streams within so many bytes: bytes that are no UTF-8 became three each, so text may be longer than its bytes. */
export function fitted({ stdout, stderr }: Streams, maxBytes: number): Streams {
  const kept = head(stdout, maxBytes);
  return { stdout: kept, stderr: head(stderr, maxBytes - Buffer.byteLength(kept)) };
}

/** Half a character at the cut is left out. */
function head(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  return new StringDecoder('utf8').write(Buffer.from(text).subarray(0, bytes));
}
