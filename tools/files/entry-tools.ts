import { defineTool, type Tool, type ToolCall, ToolFailure } from '../tool.ts';
import { fsCreateDir, fsDelete, fsList, fsRead, fsWrite } from './contracts.ts';
import { directoryOf, type FilePlace, type FilePorts, mountNames, placeOf } from './places.ts';
import { checkFileBytes, readText, unlessMissing, withFile } from './text-file.ts';

const LISTED = 10_000;

/** fs.read, fs.write, fs.list, fs.create_dir and fs.delete over the volumes of an execution. */
export function entryTools(ports: FilePorts): Tool[] {
  const { files } = ports;
  return [
    defineTool(fsRead, async ({ path }, call) => {
      const { text } = await readText(ports, call.tenant, await placeOf(ports, call, path, 'read'));
      return { text };
    }),

    defineTool(fsWrite, async (input, call) => {
      const { path, volumeId, inVolume } = await placeOf(ports, call, input.path, 'write');
      const content = Buffer.from(input.content);
      checkFileBytes(call.run, path, content.length);
      const written = await withFile(path, () =>
        files.write(call.tenant, volumeId, inVolume, content, { byTool: true }),
      );
      return { text: `${written.created ? 'Created' : 'Replaced'} ${path} (${written.bytes_written} bytes).` };
    }),

    defineTool(fsList, async (input, call) => ({ text: await list(ports, call, directoryOf(input.path)) })),

    defineTool(fsCreateDir, async (input, call) => {
      const place = await placeOf(ports, call, input.path, 'write');
      await makeDirectory(ports, call.tenant, place);
      return { text: `Created directory ${place.path}.` };
    }),

    defineTool(fsDelete, async (input, call) => {
      const { path, volumeId, inVolume } = await placeOf(ports, call, input.path, 'write');
      if (inVolume === '' || mountNames(call, path).length > 0) {
        throw new ToolFailure(
          'PERMISSION_DENIED',
          `${path} cannot be deleted, only what is in it: a volume is mounted there`,
        );
      }
      const { recursive } = input;
      await withFile(path, () => files.delete(call.tenant, volumeId, inVolume, { recursive }));
      return { text: `Deleted ${path}.` };
    }),
  ];
}

/** Sorted names, directories with `/`; what is mounted in the directory is one of them. */
async function list(ports: FilePorts, call: ToolCall, given: string): Promise<string> {
  const { path, volumeId, inVolume } = await placeOf(ports, call, given, 'read');
  const mounted = new Set(mountNames(call, path));
  const { entries, truncated } = await unlessMissing({ entries: [], truncated: false }, mounted.size > 0, () =>
    withFile(path, () => ports.files.list(call.tenant, volumeId, inVolume, LISTED)),
  );
  const names = entries
    .filter(({ name }) => !mounted.has(name))
    .map(({ name, kind }) => (kind === 'directory' ? `${name}/` : name));
  for (const name of mounted) names.push(`${name}/`);
  names.sort();
  if (truncated) names.push(`[more than ${LISTED} entries: the rest is left out; use fs.glob]`);
  return names.join('\n');
}

async function makeDirectory({ files }: FilePorts, tenant: string, { path, volumeId, inVolume }: FilePlace) {
  try {
    await withFile(path, () => files.mkdir(tenant, volumeId, inVolume));
  } catch (thrown) {
    if (!(thrown instanceof ToolFailure) || thrown.code !== 'NotADirectory') throw thrown;
    const { cause } = thrown;
    throw new ToolFailure('ALREADY_EXISTS', `${path}: it, or something above it, is a file`, 'recoverable', cause);
  }
}
