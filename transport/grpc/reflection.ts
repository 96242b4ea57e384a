import { readFileSync } from 'node:fs';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { Server } from '@grpc/grpc-js';
import {
  type AnyDefinition,
  loadFileDescriptorSetFromBuffer,
  type MessageTypeDefinition,
  type PackageDefinition,
} from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';

/** Made by `npm run generate`; copied beside the compiled code when the package is built. */
const DESCRIPTORS = ['descriptors.binpb', 'health.binpb'];

const STANDARD_SERVICES = ['grpc.health.v1.Health'];

/** Server reflection, v1 and v1alpha: all that grpcurl and graphical clients need to know of these services. */
export function addReflection(server: Server, services: readonly string[]): void {
  const sets = DESCRIPTORS.map((name) =>
    describedAsBuilt(readFileSync(new URL(`../../proto/gen/${name}`, import.meta.url))),
  );
  const shown = { services: [...services, ...STANDARD_SERVICES] };
  new ReflectionService(Object.assign({}, ...sets), shown).addToServer(server);
}

/**
 * The loader rebuilds descriptors, makes maps that other languages refuse, and loses `optional`, JSON names and comments,
 * so the files are handed on as buf built them. With one entry: the service reads every file again for each entry, which
 * kept a starting node busy for 0.2 s and more.
 */
function describedAsBuilt(set: Buffer): PackageDefinition {
  const [first] = Object.entries(loadFileDescriptorSetFromBuffer(set)).filter(isMessage);
  return first === undefined ? {} : { [first[0]]: { ...first[1], fileDescriptorProtos: filesOf(set) } };
}

function isMessage(entry: [string, AnyDefinition]): entry is [string, MessageTypeDefinition<object, object>] {
  return entry[1].format === 'Protocol Buffer 3 DescriptorProto';
}

/** Field 1 of google.protobuf.FileDescriptorSet, each as its bytes. */
function filesOf(set: Buffer): Buffer[] {
  const reader = new BinaryReader(set);
  const files: Buffer[] = [];
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 1) files.push(Buffer.from(reader.bytes()));
    else reader.skip(wireType);
  }
  return files;
}
