import type { StoredDocument } from '../../runtime/documents.ts';
import { addressOf, openStores, startRuntime } from '../../runtime/index.ts';
import { booking } from './booking.ts';
import { createPaymentEffect, type Till } from './payment.ts';

interface BookingDocument extends StoredDocument {
  readonly status: string;
  readonly seat: string;
}

/** A whole runtime that serves bookings, on SQLite files in `dataDir`. */
export async function startBookings(dataDir: string, till: Till) {
  const warn = (message: string, error: unknown): void => console.error(message, error);
  const stores = await openStores({ dataDir, warn });
  const runtime = await startRuntime({
    stores,
    actors: [booking],
    effects: [createPaymentEffect(till)],
    node: 'bookings',
    settings: { partitions: 4, systemPartitions: 1 },
    warn,
  });
  return {
    client: runtime.client,
    bookings: await stores.documents.collection<BookingDocument>({
      name: 'bookings',
      unique: [],
      indexes: [['status']],
    }),
    address: (id: string) => addressOf('booking', 'theatre', id),
    async stop() {
      await runtime.stop();
      await stores.close();
    },
  };
}
