import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { z } from 'zod';
import { approvalActor } from '../../actors/approval/definition.ts';
import { execution } from '../../actors/execution/definition.ts';
import { workflowActor } from '../../actors/workflow/definition.ts';
import { addressOf } from '../../runtime/address.ts';
import type { ActorDefinition } from '../../runtime/define-actor.ts';
import { SvcError } from '../../runtime/errors.ts';
import { decodeRecord, encodeRecord } from '../../runtime/turns/record.ts';
import { definition as toolSession } from './tool-session/driven-session.ts';

const ID = '6f1c3a52-0000-4000-8000-00000000000a';
/** Kinds whose states have had other fields. */
const KINDS: readonly ActorDefinition[] = [execution, workflowActor(), approvalActor, toolSession];

/** What a node that knows this version of the kind writes of a new actor. */
function written({ kind, initial }: ActorDefinition, version: number): string {
  const state = initial({ address: addressOf(kind, 'acme', ID), tenant: 'acme', id: ID });
  return encodeRecord(version, { revision: 1, lastEvent: 0, timers: {}, effects: [], stuck: null, state });
}

describe('states of several versions in one fleet', () => {
  for (const definition of KINDS) {
    const { kind, version } = definition;

    test(`${kind}: what nodes of all earlier versions wrote is read`, () => {
      const today = decodeRecord(definition, written(definition, version));
      for (let earlier = 1; earlier < version; earlier += 1)
        assert.deepEqual(decodeRecord(definition, written(definition, earlier)), today);
    });

    test(`${kind}: a state that its reader checks itself is migrated and not checked before`, () => {
      const strict = { ...definition, state: z.never() };
      for (let one = 1; one <= version; one += 1) {
        const text = written(definition, one);
        assert.throws(() => decodeRecord(strict, text), z.ZodError);
        assert.deepEqual(
          definition.state.parse(decodeRecord(strict, text, true).state),
          decodeRecord(definition, text).state,
        );
      }
    });

    test(`${kind}: a node of the previous version does not write a state of which it would lose a part`, () => {
      assert.ok(version > 1);
      assert.throws(
        () => decodeRecord({ ...definition, version: version - 1 }, written(definition, version)),
        (thrown) => thrown instanceof SvcError && thrown.code === 'unavailable',
      );
    });
  }
});
