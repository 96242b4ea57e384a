import type { ServerInterceptingCallInterface } from '@grpc/grpc-js';
import { SvcError } from '../../runtime/errors.ts';

/**
 * Lowers the bytes that the messages of one call may have, before any of them is read: the library has one bound for all
 * methods of a server, so who may send little would be given the memory of who may send much. Works on the parts of the
 * library that count bytes; throws `internal` where a version of it has others, which tests would see first.
 */
export function boundMessages(call: ServerInterceptingCallInterface, bytes: number): void {
  const decoder: unknown = Reflect.get(call, 'decoder');
  const isKnown =
    typeof decoder === 'object' &&
    decoder !== null &&
    typeof Reflect.get(decoder, 'maxReadMessageLength') === 'number' &&
    typeof Reflect.get(call, 'maxReceiveMessageSize') === 'number';
  if (!isKnown) throw new SvcError('internal', 'the gRPC library counts the bytes of messages in another place');
  Reflect.set(decoder, 'maxReadMessageLength', bytes);
  // What a compressed message may become.
  Reflect.set(call, 'maxReceiveMessageSize', bytes);
}
