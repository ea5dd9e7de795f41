// Imports a file into a folder and says what that took: a process of its own, since memory is measured.
import process from 'node:process';
import { importLog } from 'palimpsest/import';
import { fileSink, fileSource } from 'palimpsest/import/node';

const [path, folder] = process.argv.slice(2) as [string, string];
const source = await fileSource(path);
let told = 0;
const start = performance.now();
const { sessions, report } = await importLog(source, { sink: fileSink(folder), onProgress: () => { told++; } });
const seconds = (performance.now() - start) / 1000;
await source.close();
const { records, mapped, kept, broken, anomalyCounts } = report;
// maxRSS is in kibibytes.
console.log(JSON.stringify({ seconds, told, peak: process.resourceUsage().maxRSS * 1024, records, mapped, kept, broken, anomalyCounts, events: sessions.map(({ role, events }) => [role, events]) }));
