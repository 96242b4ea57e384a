import { randomUUID } from 'node:crypto';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { AttackedNode } from './attacked-node.ts';
import { COSTLY } from './bodies.ts';
import type { Attack } from './cases.ts';
import { executionToken } from './fuzzed-callers.ts';

const MiB = 1024 * 1024;
/** Room for what surrounds the costly part of a message of 16 MiB. */
const MANY_BYTES = 15 * MiB;
const RUNTIME = '/svc.runtime.v1.SvcRuntime/';

/** Nothing but a field without content, as often as the largest message has room for: two bytes build one object. */
const emptyFields = (field: number): Buffer => Buffer.alloc(MANY_BYTES, Buffer.from([(field << 3) | 2, 0]));

const text = (field: number, value: string | Uint8Array): Uint8Array =>
  new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(Buffer.from(value)).finish();

/** gRPC requests at the largest input that is read, of the kinds that cost most. The status is that of gRPC. */
export async function messageAttacks(node: AttackedNode, agent: string): Promise<Attack[]> {
  // The node makes its signing key with the first question for its keys.
  await fetch(`${node.url}/.well-known/jwks.json`);
  const program = `Bearer ${await executionToken(node, randomUUID())}`;
  const runtime = (method: string, field: string, message: Buffer): Attack => ({
    name: `gRPC ${method} ${field}, ${Math.round(message.length / 1024)} KiB`,
    send: () => called(node.grpcAddress, `${RUNTIME}${method}`, message),
  });
  const contexts = COSTLY.map(({ name, part }) => {
    const json = `{"x":${part(MiB - 1024)}}`;
    const message = Buffer.concat([text(1, agent), text(2, 'x'), text(3, json)]);
    return runtime('ExecuteAgent', `context_json: ${name}`, message);
  });
  const many = emptyFields(6);
  return [
    ...contexts,
    runtime('ValidateWithJudges', 'judges: as many as fit', emptyFields(3)),
    runtime('StoreMemoryPattern', 'tags: as many as fit', emptyFields(7)),
    runtime('IngestStimulus', 'headers: as many as fit', emptyFields(4)),
    runtime('ExecuteSystemCommand', 'env: as many as fit', emptyFields(2)),
    {
      name: 'gRPC Generate messages: as many as fit',
      send: () => called(node.internalGrpcAddress, '/svc.v1.InnerLoop/Generate', Buffer.from(text(1, many)), program),
    },
  ];
}

const asBytes = (bytes: Buffer): Buffer => bytes;

async function called(address: string, path: string, message: Buffer, authorization?: string): Promise<number> {
  const client = new Client(address, credentials.createInsecure());
  const metadata = new Metadata();
  if (authorization !== undefined) metadata.set('authorization', authorization);
  try {
    return await new Promise((resolve) => {
      const call = client.makeServerStreamRequest(path, asBytes, asBytes, message, metadata);
      call.on('status', ({ code }) => resolve(code));
      call.on('error', () => undefined).resume();
    });
  } finally {
    client.close();
  }
}
