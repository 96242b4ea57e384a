/**
 * For authors of a store (`svc-runtime/testing/stores`): the promises of every adapter of a port, as suites that register their
 * tests with `node:test`, and the fault layer, which makes calls fail like a network. Needs `fast-check`.
 */
export type { ActorStore } from '../../runtime/actor-store.ts';
export type { Blobs } from '../../runtime/blobs.ts';
export type { Documents } from '../../runtime/documents.ts';
export type { EffectQueue } from '../../runtime/effect-queue.ts';
export { type FaultRates, type Faults, FaultyStore, seeded } from '../support/faulty-store.ts';
export { MemoryEffectLedger, type TestLedger } from '../support/memory-effect-ledger.ts';
export { actorStoreContract, type MakeStore, type StoreUnderTest } from './actor-store.ts';
export { type BlobsUnderTest, blobsContract } from './blobs.ts';
export { type DocumentsContractOptions, type DocumentsUnderTest, documentsContract } from './documents.ts';
export { effectQueueContract, type QueueAdapter, type Victim } from './effect-queue.ts';
export { type KernelStores, kernelContract } from './kernel.ts';
export { type FaultRun, type FaultStores, kernelFaults } from './kernel-faults.ts';
export { type HistoryStores, storeHistories } from './store-histories.ts';
