//! Images: a message that is kept has its image, whole, and none is left of a session that is gone.

use super::Verdict;
use crate::observed::Observed;
use crate::picture;
use crate::violation::Broken;

pub(super) fn judge(observed: &Observed, verdict: &mut Verdict) {
    for post in observed.posts.iter().filter(|post| post.acked_at.is_some()) {
        let sent = picture::of(&post.message).map(|image| picture::name(&image));
        verdict.counts.images += u64::from(sent.is_some());
        let row = observed.stored.iter().find(|row| row.id == post.message);
        if row.is_some_and(|row| row.image != sent) {
            verdict.find(Broken::ImageLost, &post.session, &post.message);
        }
    }
    for image in &observed.images.lost {
        verdict.find(Broken::ImageLost, image, "");
    }
    for image in &observed.images.left {
        verdict.find(Broken::ImageLeft, image, "");
    }
}
