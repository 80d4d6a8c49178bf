import ciir.umass.edu.learning.DataPoint;
import ciir.umass.edu.learning.DenseDataPoint;
import ciir.umass.edu.learning.RankList;
import ciir.umass.edu.metric.MetricScorer;
import ciir.umass.edu.metric.MetricScorerFactory;
import ciir.umass.edu.utilities.MergeSorter;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;

/** Scores rankings with RankLib. Arguments: metrics. Input: one query a line, "id label:score ...". */
public class RankLibScores {
    public static void main(final String[] metrics) throws Exception {
        final List<RankList> rankings = new ArrayList<>();
        final BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            rankings.add(ranking(line.split(" ")));
        }
        final MetricScorerFactory factory = new MetricScorerFactory();
        for (final String metric : metrics) {
            final MetricScorer scorer = factory.createScorer(metric);
            final StringBuilder values = new StringBuilder();
            for (final RankList ranking : rankings) {
                values.append(scorer.score(ranking)).append(' ');
            }
            System.out.println(values.toString().trim());
        }
    }

    /** The documents of a query, sorted as RankLib's rankers sort them. */
    private static RankList ranking(final String[] words) {
        final List<DataPoint> documents = new ArrayList<>();
        final double[] scores = new double[words.length - 1];
        for (int i = 1; i < words.length; i++) {
            final String[] labelAndScore = words[i].split(":");
            documents.add(new DenseDataPoint(labelAndScore[0] + " qid:" + words[0] + " 1:0"));
            scores[i - 1] = Double.parseDouble(labelAndScore[1]);
        }
        return new RankList(new RankList(documents), MergeSorter.sort(scores, false));
    }
}
