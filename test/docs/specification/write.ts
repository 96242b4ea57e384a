/** Writes the pages of conformance: `npm run conformance`. */
import { writeFileSync } from 'node:fs';
import { DOCUMENTS, pageOf, pageText } from './specification.ts';

for (const document of DOCUMENTS) writeFileSync(pageOf(document.number), pageText(document));
