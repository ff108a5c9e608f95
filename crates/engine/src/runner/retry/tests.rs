use samovar_doubles::CountedIds;

use super::*;

fn failed(code: FaultCode, retry_after: Option<u64>) -> Failure {
    Failure {
        code,
        message: String::new(),
        retry_after: retry_after.map(Duration::from_secs),
        usage: None,
        context: None,
        is_final: false,
    }
}

#[test]
fn the_wait_doubles_is_jittered_and_bounded_and_as_long_as_the_server_asks() {
    let ids = CountedIds::default();
    let retry = Retry::default();
    let busy = failed(FaultCode::ProviderError, None);
    let mut longest = Duration::ZERO;
    let mut different = std::collections::HashSet::new();
    for attempt in 1..=40 {
        let wait = pause(&retry, &busy, attempt, &ids).unwrap();
        let whole = retry
            .first_wait
            .saturating_mul(2_u32.saturating_pow(attempt - 1));
        let whole = whole.min(retry.longest_wait);
        assert!(wait >= whole / 2 && wait <= whole, "{attempt}: {wait:?}");
        longest = longest.max(wait);
        different.insert(wait);
    }
    assert!(longest > retry.longest_wait / 2 && different.len() > 10);

    let asked = failed(FaultCode::ProviderRateLimited, Some(60));
    let wait = pause(&retry, &asked, 1, &ids).unwrap();
    assert_eq!(wait, Duration::from_mins(1));
    let hasty = failed(FaultCode::ProviderRateLimited, Some(0));
    assert!(pause(&retry, &hasty, 1, &ids).unwrap() >= retry.first_wait / 2);
}

#[tokio::test(start_paused = true)]
async fn time_is_counted_from_a_passs_first_failure_to_its_success_over_all_passes() {
    let step = Duration::from_secs(10);
    let mut patience = RetryTime::default();
    tokio::time::advance(step).await;
    assert_eq!(patience.used(), Duration::ZERO);
    patience.fails();
    tokio::time::advance(step).await;
    patience.fails();
    tokio::time::advance(step).await;
    assert_eq!(patience.used(), step * 2);
    patience.rests();
    tokio::time::advance(step).await;
    assert_eq!(patience.used(), step * 2);
    patience.fails();
    tokio::time::advance(step).await;
    assert_eq!(patience.used(), step * 3);
    tokio::time::advance(step).await;
    patience.waited(step);
    assert_eq!(patience.used(), step * 3);
}
