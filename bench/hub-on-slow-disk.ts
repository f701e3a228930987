/** A hub over a disk whose syncs take as long as those of a slow one do. */
import { hubOver } from './hub-over.ts'
import { SLOW_SYNC_MS } from './slow-sync.ts'

await hubOver({ sync: (_fd, done) => void setTimeout(done, SLOW_SYNC_MS, null), syncNow: () => {} })
