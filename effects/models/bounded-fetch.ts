import { ModelFailure } from './failure.ts';

/** A streamed token costs some 200 bytes of framing, so this is beyond the longest real answers (128,000 tokens). */
const MAX_RESPONSE_BYTES = 32 * 1024 * 1024;

/** The fetch given to the AI SDK: follows no redirect (a key goes to the configured place only), reads a bounded body. */
export async function boundedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, redirect: 'manual' });
  if (response.body === null) return response;
  let bytes = 0;
  const limit = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes <= MAX_RESPONSE_BYTES) controller.enqueue(chunk);
      else controller.error(new ModelFailure('refused', `the response is over ${MAX_RESPONSE_BYTES} bytes`));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
}
