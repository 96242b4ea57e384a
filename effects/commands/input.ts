import { StringDecoder } from 'node:string_decoder';
import { z } from 'zod';
import { KnownVolume } from '../../manifests/metadata.ts';
import type { CommandStreams } from '../../manifests/tool/contract.ts';
import { Command } from '../../usecases/ports/commands.ts';
import { Segment } from '../programs/input.ts';
import { Mounts } from '../programs/mounts.ts';
import { StepFiles } from '../volumes/step-files.ts';

/** Input of the effect `command.run`. */
export const CommandInput = Command.extend({
  execution_id: Segment,
  state_name: z.string().max(256).optional(),
  /** `implicit`: the workspace of an execution without storage, created on first use. Null: an empty one, removed afterwards. */
  workspace: z
    .object({
      volume_id: z.string().min(1).max(128),
      implicit: z.boolean(),
      /** Absent if the run does not know the record yet; it is then looked up. */
      known: KnownVolume.optional(),
    })
    .nullable(),
  files: StepFiles.optional(),
  mounts: Mounts.optional(),
});

export type CommandInput = z.output<typeof CommandInput>;

/** Cuts both streams to a number of bytes. Needed because each invalid UTF-8 byte becomes three bytes of text. */
export function fitted({ stdout, stderr }: CommandStreams, maxBytes: number): CommandStreams {
  const kept = head(stdout, maxBytes);
  return { stdout: kept, stderr: head(stderr, maxBytes - Buffer.byteLength(kept)) };
}

/** Drops a character cut in half. */
function head(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  return new StringDecoder('utf8').write(Buffer.from(text).subarray(0, bytes));
}
