import { readFileSync } from 'node:fs';
import type { Server } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer, loadSync } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { protoPath as healthProto } from 'grpc-health-check';

/** Made by `npm run generate`; copied beside the compiled code when the package is built. */
const DESCRIPTORS = new URL('../../proto/gen/descriptors.binpb', import.meta.url);

/** Server reflection, v1 and v1alpha: what grpcurl and graphical clients need to know no .proto file. */
export function addReflection(server: Server): void {
  const ours = loadFileDescriptorSetFromBuffer(readFileSync(DESCRIPTORS));
  const health = loadSync(healthProto, { keepCase: true });
  new ReflectionService({ ...ours, ...health }).addToServer(server);
}
