import { readFileSync } from 'node:fs';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import type { handleBidiStreamingCall, MethodDefinition, Server, ServerDuplexStream } from '@grpc/grpc-js';
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

const VERSIONS = ['v1', 'v1alpha'];

/**
 * Server reflection, v1 and v1alpha: all that grpcurl and graphical clients need to know of these services. What they are
 * told is made when somebody first asks: it takes some 7 MB a listener, and most nodes are never asked.
 */
export function addReflection(server: Server, services: readonly string[]): void {
  let made: ReadonlyMap<string, Answering> | undefined;
  for (const version of VERSIONS) {
    const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
    const answering = (): Answering => {
      made ??= answeringFor([...services, ...STANDARD_SERVICES]);
      const found = made.get(path);
      if (found === undefined) throw new Error(`reflection has no method ${path}`);
      return found;
    };
    const definition: MethodDefinition<unknown, unknown> = {
      path,
      requestStream: true,
      responseStream: true,
      requestSerialize: (value) => answering().definition.requestSerialize(value),
      requestDeserialize: (bytes) => answering().definition.requestDeserialize(bytes),
      responseSerialize: (value) => answering().definition.responseSerialize(value),
      responseDeserialize: (bytes) => answering().definition.responseDeserialize(bytes),
    };
    const handle: handleBidiStreamingCall<unknown, unknown> = (call) => answering().handle(call);
    server.addService({ ServerReflectionInfo: definition }, { ServerReflectionInfo: handle });
  }
}

interface Answering {
  readonly definition: MethodDefinition<unknown, unknown>;
  readonly handle: (call: ServerDuplexStream<unknown, unknown>) => void;
}

/** By path: what the library would have added to a server. */
function answeringFor(services: string[]): ReadonlyMap<string, Answering> {
  const sets = DESCRIPTORS.map((name) =>
    describedAsBuilt(readFileSync(new URL(`../../proto/gen/${name}`, import.meta.url))),
  );
  const answering = new Map<string, Answering>();
  new ReflectionService(Object.assign({}, ...sets), { services }).addToServer({
    addService(service, implementation) {
      for (const [name, definition] of Object.entries(service)) {
        const handle = implementation[name];
        if (typeof handle === 'function')
          answering.set(definition.path, { definition, handle: (call) => Reflect.apply(handle, undefined, [call]) });
      }
    },
  });
  return answering;
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
