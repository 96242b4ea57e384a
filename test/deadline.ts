/**
 * Loaded into the process of each test file. `run({ timeout })` bounds tests, not files: one that left a server or a
 * connection open behind its last test would hold the whole run for ever. It ends as failed, and says what was open.
 */
const MOST_MINUTES = 12;

setTimeout(() => {
  const open = Object.entries(Object.groupBy(process.getActiveResourcesInfo(), (kind) => kind));
  const said = open.map(([kind, all]) => `${all?.length} ${kind}`).join(', ');
  console.error(`${process.argv[1]}: not ended after ${MOST_MINUTES} minutes; still open: ${said || 'nothing'}`);
  process.exit(1);
}, MOST_MINUTES * 60_000).unref();
