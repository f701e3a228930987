/** A hub over a disk with slow syncs. */
import { hubOver } from './hub-over.ts'
import { SLOW_SYNC_MS } from '../slow-sync.ts'

await hubOver({ sync: (_fd, done) => void setTimeout(done, SLOW_SYNC_MS, null), syncNow: () => {} })
