import { duplicateOf, type IngestStimulus, type StimulusApi } from '../../actors/stimulus/api.ts';
import { IngestStimulusRequest, IngestStimulusResponse } from '../../proto/gen/svc/runtime/v1/runtime.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { Identity } from '../../runtime/identity.ts';
import { callerOf, hasBegun } from './call-context.ts';
import type { GrpcParts } from './parts.ts';
import { decoded, type UnaryInBytes, unary } from './service.ts';

/** Trailer of ALREADY_EXISTS: the first delivery's id (decided.md "Status codes"). */
const STIMULUS_ID_KEY = 'svc-stimulus-id';

/**
 * IngestStimulus (spec 1): routes a stimulus to a workflow and starts it. A caller that goes away ends its waiting and
 * nothing else.
 */
export const ingestStimulus =
  (parts: Pick<GrpcParts, 'logger'>, stimuli: StimulusApi): UnaryInBytes =>
  (call, answer) => {
    let firstId: string | undefined;
    const gone = new AbortController();
    call.on('cancelled', () => gone.abort());
    const ingest = unary(parts, async ({ metadata, request }) => {
      const { identity, trace } = callerOf(metadata);
      try {
        const asked = stimulusOf(decoded(IngestStimulusRequest, request), identity);
        const started = await stimuli.ingest(asked, {
          ...{ trace, signal: gone.signal },
          onBegun: () => hasBegun(metadata),
        });
        return IngestStimulusResponse.encode(started).finish();
      } catch (thrown) {
        firstId = duplicateOf(thrown)?.original_stimulus_id;
        throw thrown;
      }
    });
    ingest(call, (error, ...rest) => {
      if (error !== null && firstId !== undefined) error.metadata?.set(STIMULUS_ID_KEY, firstId);
      answer(error, ...rest);
    });
  };

/** An empty `idempotency_key` is none: proto3 has no other word for it. */
function stimulusOf(request: IngestStimulusRequest, identity: Identity): IngestStimulus {
  const { source_name: source, content, idempotency_key: key, headers } = request;
  if (source.trim() === '') {
    throw new SvcError('invalid_argument', 'source_name: expected the name of a source', { field: 'source_name' });
  }
  return { source, content, headers, identity, ...(key === undefined || key === '' ? {} : { idempotencyKey: key }) };
}
